import 'reflect-metadata';
import { createInterface } from 'node:readline';
import { openOffice } from './noop-office.js';

/** One server of several, in a process of its own, told by lines what to do: `open URL`, `go`, `close`. Answers each with `done`. */
let office: Awaited<ReturnType<typeof openOffice>> | undefined;
for await (const line of createInterface({ input: process.stdin })) {
  const [word, url] = line.split(' ');
  if (word === 'open') office = await openOffice(url!);
  if (word === 'go') await office!.start();
  if (word === 'close') await office!.close();
  process.stdout.write('done\n');
}
process.exit(0);
