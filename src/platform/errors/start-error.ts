/** The office cannot start. `message` is the one line a person needs; there is nothing else to print. */
export class StartError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message.trim().replaceAll(/\s*\n\s*/g, ' | '), options);
    this.name = 'StartError';
  }
}
