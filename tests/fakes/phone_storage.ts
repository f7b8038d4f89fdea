// The phone page's IndexedDB, in memory.

import type { PasscodeKey, PhoneStorage } from "../../console/device/phone_storage.ts";

/** @param options.isBroken writes do nothing, as in some private windows. */
export function memoryPhoneStorage({ isBroken = false } = {}): PhoneStorage {
  const values = new Map<string, unknown>();
  const keys = new Map<string, PasscodeKey>();
  const write = (change: () => unknown): Promise<void> => {
    if (!isBroken) change();
    return Promise.resolve();
  };
  return {
    get: (name) => Promise.resolve(values.get(name) as never),
    set: (name, value) => write(() => values.set(name, value)),
    passcodeKeys: () => Promise.resolve([...keys.values()]),
    putPasscodeKey: (key) => write(() => keys.set(key.pairingId, key)),
    deletePasscodeKey: (id) => write(() => keys.delete(id)),
    clear: () =>
      write(() => {
        values.clear();
        keys.clear();
      }),
  };
}
