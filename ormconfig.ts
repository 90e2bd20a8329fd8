import 'reflect-metadata';
import { DataSource } from 'typeorm';
import { databaseOptions } from './src/database-options.js';

const url = process.env['OFFICE_DATABASE_URL'];
if (!url) throw new Error('Set OFFICE_DATABASE_URL to use the TypeORM command line; `npm run migrate` serves the embedded database too.');

/** The TypeORM command line's door. */
export default new DataSource({ ...databaseOptions(url, { poolSize: 2, statementTimeoutMs: 0 }), logger: 'advanced-console' });
