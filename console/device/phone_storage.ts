// What the phone page keeps in IndexedDB for itself and its service worker: the keys of offline passcodes, the language, and
// the difference of the clocks. Without IndexedDB (some private windows), reads find nothing and writes do nothing.

import type { Language } from "../web/i18n/catalogue.ts";

/** The key of a pairing's offline passcodes. The browser uses `key`, but no script can read its octets. */
export interface PasscodeKey {
  readonly pairingId: string;
  readonly userName: string;
  readonly requesterName: string;
  readonly key: CryptoKey;
  readonly digits: number;
  readonly stepMs: number;
  /** When the server issued it. */
  readonly seedMs: number;
}

interface StoredValues {
  readonly language: Language;
  /** The server's clock minus the clock of the phone, in ms. */
  readonly clockOffsetMs: number;
  /** Whether the user turned notifications on. */
  readonly wantsPush: boolean;
}

/** A store of one origin. No method rejects. */
export interface PhoneStorage {
  get<Name extends keyof StoredValues>(name: Name): Promise<StoredValues[Name] | undefined>;
  set<Name extends keyof StoredValues>(name: Name, value: StoredValues[Name]): Promise<void>;
  passcodeKeys(): Promise<readonly PasscodeKey[]>;
  putPasscodeKey(key: PasscodeKey): Promise<void>;
  deletePasscodeKey(pairingId: string): Promise<void>;
  /** Deletes everything. */
  clear(): Promise<void>;
}

const DATABASE = "countersign-phone";
const VERSION = 1;
const VALUES = "values";
const KEYS = "passcode_keys";

/** @param factory is missing in browsers that switch IndexedDB off. */
export function openPhoneStorage(factory: IDBFactory | undefined): PhoneStorage {
  let opened: Promise<IDBDatabase> | null = null;
  const database = (): Promise<IDBDatabase> => {
    opened ??= openDatabase(factory).then((one) => {
      // Another version of the page wants to upgrade, or the browser deletes the data.
      one.onversionchange = one.onclose = () => {
        one.close();
        opened = null;
      };
      return one;
    });
    return opened;
  };
  const run = async <T>(
    store: typeof VALUES | typeof KEYS,
    { mode = "readwrite", otherwise, use }: {
      mode?: IDBTransactionMode;
      otherwise: T;
      use: (store: IDBObjectStore) => IDBRequest;
    },
  ): Promise<T> => {
    try {
      return await committed<T>(
        (await database()).transaction(store, mode),
        (open) => use(open.objectStore(store)),
      );
    } catch (_unavailable) {
      opened = null;
      return otherwise;
    }
  };
  const write = (store: typeof VALUES | typeof KEYS, use: (store: IDBObjectStore) => IDBRequest) =>
    run<void>(store, { otherwise: undefined, use });
  return {
    get: (name) => run(VALUES, { mode: "readonly", otherwise: undefined, use: (store) => store.get(name) }),
    set: (name, value) => write(VALUES, (store) => store.put(value, name)),
    passcodeKeys: () =>
      run<PasscodeKey[]>(KEYS, { mode: "readonly", otherwise: [], use: (store) => store.getAll() }),
    putPasscodeKey: (key) => write(KEYS, (store) => store.put(key)),
    deletePasscodeKey: (pairingId) => write(KEYS, (store) => store.delete(pairingId)),
    async clear() {
      await write(KEYS, (store) => store.clear());
      await write(VALUES, (store) => store.clear());
    },
  };
}

function openDatabase(factory: IDBFactory | undefined): Promise<IDBDatabase> {
  return new Promise((resolve, reject) => {
    if (factory === undefined) return reject(new Error("Cannot open the database: the browser has none"));
    const request = factory.open(DATABASE, VERSION);
    request.onupgradeneeded = () => {
      request.result.createObjectStore(VALUES);
      request.result.createObjectStore(KEYS, { keyPath: "pairingId" });
    };
    request.onsuccess = () => resolve(request.result);
    request.onerror = request.onblocked = () => reject(request.error);
  });
}

/** Resolves to the result of the request after its transaction is stored. */
function committed<T>(
  transaction: IDBTransaction,
  use: (transaction: IDBTransaction) => IDBRequest,
): Promise<T> {
  return new Promise((resolve, reject) => {
    const request = use(transaction);
    transaction.oncomplete = () => resolve(request.result);
    transaction.onerror = transaction.onabort = () => reject(transaction.error);
  });
}
