// What a listing throws when it cannot go on: the fault as a value, in an Error that `for await` can carry.

import type { BackendFault } from "../backend_port.ts";

/** Thrown by `Backend.list`, and by nothing else. What was given before it stands. */
export class BackendListFault extends Error {
  readonly fault: BackendFault;

  constructor(fault: BackendFault) {
    super(fault.detail);
    this.name = "BackendListFault";
    this.fault = fault;
  }
}
