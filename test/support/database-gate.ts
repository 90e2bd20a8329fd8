import { connect, createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';

export interface DatabaseGate {
  /** The address of the same database through the gate. */
  readonly url: string;
  /** Cuts every connection and takes no more, like a PostgreSQL that was stopped. */
  shut(): Promise<void>;
  /** Lets nothing through any more without a word, like a network that vanished. */
  hang(): void;
  /** What is sent from now on arrives when it thaws, goodbyes included. */
  freeze(): void;
  thaw(): void;
  /** As if nothing had been. */
  open(): Promise<void>;
  close(): Promise<void>;
}

/** A door between the office and its database, for tests of what happens when there is none. */
export async function openDatabaseGate(databaseUrl: string): Promise<DatabaseGate> {
  const target = new URL(databaseUrl);
  const sockets = new Set<Socket>();
  let hanging = false;
  let frozen = false;
  const late: [Socket, Buffer][] = [];
  const server = createServer((inner) => {
    const outer = connect(Number(target.port), target.hostname);
    for (const [from, to] of [
      [inner, outer],
      [outer, inner],
    ] as const) {
      sockets.add(from);
      from.on('data', (chunk: Buffer) => {
        if (frozen) late.push([to, chunk]);
        else if (!hanging) to.write(chunk);
      });
      from.on('error', () => to.destroy());
      from.on('close', () => {
        sockets.delete(from);
        if (!frozen) to.destroy();
      });
    }
  });
  const listen = (port: number) => new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  await listen(0);
  const { port } = server.address() as AddressInfo;
  const url = new URL(databaseUrl);
  url.host = `127.0.0.1:${port}`;
  const shut = () =>
    new Promise<void>((resolve) => {
      if (server.listening) server.close(() => resolve());
      else resolve();
      for (const socket of sockets) socket.destroy();
    });
  return {
    url: url.href,
    shut,
    hang: () => void (hanging = true),
    freeze: () => void (frozen = true),
    thaw: () => {
      frozen = false;
      for (const [to, chunk] of late.splice(0)) if (!to.destroyed) to.write(chunk);
    },
    open: async () => {
      if (hanging) for (const socket of sockets) socket.destroy();
      hanging = false;
      if (!server.listening) await listen(port);
    },
    close: shut,
  };
}
