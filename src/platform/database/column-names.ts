import { DefaultNamingStrategy, type NamingStrategyInterface, type Table } from 'typeorm';

/** Entities are written in camelCase, tables in snake_case; primary keys are called what the migrations call them. */
export class ColumnNames extends DefaultNamingStrategy implements NamingStrategyInterface {
  override columnName(propertyName: string, customName: string): string {
    return customName || propertyName.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`);
  }

  override primaryKeyName(table: Table | string): string {
    return `${this.getTableName(table)}_pkey`;
  }
}
