// For a store whose commit() a test replaced: append() then goes through it too.

import type { Store } from "../../platform/store.ts";

/** @param commit the replaced function, called with a copy of the line as a transaction */
export function appendByCommit(commit: Store["commit"]): Store["append"] {
  return (line, listener) => {
    const journal = [{ ...line, octets: line.octets.slice() }];
    commit({ mutations: [], journal }).then(
      () => listener.recorded(),
      (fault: unknown) => listener.notRecorded(fault),
    );
  };
}
