import { text } from 'node:stream/consumers';
import { writeSkills, type Skill } from './skill-folder.js';

/** Writes skills as the user it is started as. One JSON object on stdin, what could not be written on stdout. */
const { folder, below, skills } = JSON.parse(await text(process.stdin)) as { folder: string; below: string; skills: readonly Skill[] };
process.stdout.write(JSON.stringify(await writeSkills(folder, below, skills)));
