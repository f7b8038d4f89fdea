// The fault of a store that does not answer.

/** The store did not answer in time, or refused the connection. Nothing may be accepted until it answers again. */
export class StoreUnavailable extends Error {}
