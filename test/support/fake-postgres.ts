import { createServer, type AddressInfo, type Socket } from 'node:net';

/** One row of one column, for each statement of a client. `pid` and `version` are what PostgreSQL would be asked for. */
export interface Answers {
  version?: string;
  /** Where a client stands, given which of them it is and whether it has a transaction open. */
  pid?: (client: number, inTransaction: boolean) => number;
  refuse?: { code: string; message: string };
}

/**
 * Speaks just enough of the protocol to be taken for a PostgreSQL that is old, or that is a pooling proxy in front of one:
 * neither can be had in a test otherwise.
 */
export async function fakePostgres({
  version = '18.4',
  pid = (client) => client,
  refuse,
}: Answers): Promise<{ url: string; close(): Promise<void> }> {
  const sockets = new Set<Socket>();
  let clients = 0;
  const server = createServer((socket) => {
    sockets.add(socket);
    const client = ++clients;
    let inTransaction = false;
    let started = false;
    let rest = Buffer.alloc(0);
    const ready = (): void => void socket.write(message('Z', Buffer.from(inTransaction ? 'T' : 'I')));
    socket.on('error', () => socket.destroy());
    socket.on('data', (chunk) => {
      rest = Buffer.concat([rest, chunk]);
      for (;;) {
        const header = started ? 1 : 0;
        if (rest.length < header + 4) return;
        const length = rest.readInt32BE(header) + header;
        if (rest.length < length) return;
        const kind = started ? String.fromCharCode(rest[0]!) : 'start';
        const text = rest.toString('utf8', header + 4, length - 1);
        rest = rest.subarray(length);
        if (kind === 'start') {
          started = true;
          if (refuse) return void socket.end(message('E', fields({ S: 'FATAL', C: refuse.code, M: refuse.message })));
          socket.write(message('R', int32(0)));
          ready();
        } else if (kind === 'Q') {
          if (text === 'begin') inTransaction = true;
          const value = text.includes('pid') ? String(pid(client, inTransaction)) : version;
          const name = text.includes('pid') ? 'pid' : 'version';
          socket.write(Buffer.concat([describe(name, name === 'pid' ? 23 : 25), row(value), message('C', Buffer.from('SELECT 1\0'))]));
          ready();
        }
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return {
    url: `postgres://someone:secret@127.0.0.1:${port}/office`,
    close: () =>
      new Promise((resolve) => {
        for (const socket of sockets) socket.destroy();
        server.close(() => resolve());
      }),
  };
}

function message(kind: string, body: Buffer): Buffer {
  return Buffer.concat([Buffer.from(kind), int32(body.length + 4), body]);
}

const int32 = (value: number): Buffer => {
  const buffer = Buffer.alloc(4);
  buffer.writeInt32BE(value);
  return buffer;
};

const int16 = (value: number): Buffer => int32(value).subarray(2);

const fields = (of: Record<string, string>): Buffer =>
  Buffer.from(
    Object.entries(of)
      .map(([key, value]) => `${key}${value}\0`)
      .join('') + '\0',
  );

const describe = (name: string, type: number): Buffer =>
  message('T', Buffer.concat([int16(1), Buffer.from(`${name}\0`), int32(0), int16(0), int32(type), int16(-1), int32(-1), int16(0)]));

const row = (value: string): Buffer => message('D', Buffer.concat([int16(1), int32(Buffer.byteLength(value)), Buffer.from(value)]));
