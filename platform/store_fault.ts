// The fault of a store that does not answer.

/** The store did not answer in time, or refused the connection. Nothing may be accepted until it answers again. */
export class StoreUnavailable extends Error {
  override readonly name = "StoreUnavailable";
  /** The call was sent, so a commit may have been applied, or may still be applied later. Otherwise it was not, and will not be. */
  readonly wasSent: boolean;

  constructor(message: string, { wasSent = false }: { wasSent?: boolean } = {}) {
    super(message);
    this.wasSent = wasSent;
  }
}
