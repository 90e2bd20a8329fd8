/** The machine this server runs on: its id lives in the data dir, its boot id is new with every process. */
export class OfficeHost {
  constructor(
    readonly id: string,
    readonly bootId: string,
    readonly name: string,
  ) {}
}
