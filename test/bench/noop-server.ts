import 'reflect-metadata';
import { openOffice } from './noop-office.js';

/** One server of several, in a process of its own: `noop-server.ts URL`. Works from `go` to `end`. */
const office = await openOffice(process.argv[2]!);
process.stdout.write('ready\n');
process.stdin.setEncoding('utf8');
for await (const word of process.stdin) {
  if (String(word).includes('go')) await office.start();
  if (String(word).includes('end')) break;
}
await office.close();
process.exit(0);
