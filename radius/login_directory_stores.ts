// What the gateway stores for the users of the login target: pairings, recovery codes, remembered devices, and removals. Another target can
// become the login target at run time. Everything is loaded first; then one step changes all of it.

import type { Clock, Random } from "../platform/runtime.ts";
import type { Store } from "../platform/store.ts";
import { createSwitchable, type PublicMembers } from "../platform/switchable.ts";
import type { Vault } from "../platform/vault.ts";
import { Offboarding, type OffboardingDeps, type OnPhoneRevoked } from "./factors/offboarding.ts";
import { Pairings } from "./factors/pairings.ts";
import { RecoveryCodeStore } from "./factors/recovery_codes.ts";
import { RememberedDevices } from "./policy/remembered_devices.ts";

export interface LoginStoreDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Clock;
  readonly random: Random;
  /** Whether a policy remembers devices. */
  readonly remembersDevices: () => boolean;
}

type LeavingDeps = Omit<OffboardingDeps, "target" | "pairings" | "recoveryCodes" | "endedBeforeMs">;

const PAIRINGS: PublicMembers<Pairings> = {
  size: "value",
  userCount: "value",
  of: "method",
  all: "method",
  usable: "method",
  isConfirmed: "method",
  wasAddedBy: "method",
  ownerOf: "method",
  preferred: "method",
  exclusive: "method",
  prepare: "method",
  adopt: "method",
  addDevice: "method",
  confirm: "method",
  rename: "method",
  revoke: "method",
  prepareUsedStep: "method",
  seedOf: "method",
  preparePreference: "method",
  adoptPreference: "method",
  removeUser: "method",
  load: "method",
  keyOf: "method",
};
const RECOVERY_CODES: PublicMembers<RecoveryCodeStore> = {
  status: "method",
  find: "method",
  prepareUse: "method",
  confirm: "method",
  create: "method",
  removeUser: "method",
  prepareRename: "method",
  load: "method",
};
const REMEMBERED_DEVICES: PublicMembers<RememberedDevices> = {
  load: "method",
  isRemembered: "method",
  count: "method",
  prepareRemember: "method",
  prepareForget: "method",
  prepareRename: "method",
};
const OFFBOARDING: PublicMembers<Offboarding> = {
  load: "method",
  departureChecks: "method",
  hasLeft: "method",
  mayRecord: "method",
  prepare: "method",
  prepareRename: "method",
  onRevoked: "method",
};

/** The stores of the current login target. The objects stay the same when it changes. */
export class LoginDirectoryStores {
  readonly #deps: LoginStoreDeps;
  readonly #pairings;
  readonly #recoveryCodes;
  readonly #remembered;
  readonly #listeners: OnPhoneRevoked[] = [];
  #offboarding: { readonly deps: LeavingDeps; readonly use: (next: Offboarding) => void } | null = null;
  #target: string;

  constructor(deps: LoginStoreDeps, target: string) {
    this.#deps = deps;
    this.#target = target;
    this.#pairings = createSwitchable(new Pairings({ ...deps, target }), PAIRINGS);
    this.#recoveryCodes = createSwitchable(new RecoveryCodeStore({ ...deps, target }), RECOVERY_CODES);
    this.#remembered = createSwitchable(
      openRemembered(deps, { pairings: this.pairings, target }),
      REMEMBERED_DEVICES,
    );
  }

  get target(): string {
    return this.#target;
  }

  get pairings(): Pairings {
    return this.#pairings.facade;
  }

  get recoveryCodes(): RecoveryCodeStore {
    return this.#recoveryCodes.facade;
  }

  get remembered(): RememberedDevices {
    return this.#remembered.facade;
  }

  async load(): Promise<void> {
    await Promise.all([this.pairings.load(), this.recoveryCodes.load(), this.remembered.load()]);
  }

  /** Call it once. */
  async openOffboarding(deps: LeavingDeps): Promise<Offboarding> {
    const { pairings, recoveryCodes, target } = this;
    const offboarding = createSwitchable(
      new Offboarding({ ...deps, pairings, recoveryCodes, target }),
      OFFBOARDING,
    );
    this.#offboarding = { deps, use: offboarding.use };
    await offboarding.facade.load();
    return offboarding.facade;
  }

  /** Listens for device pairings that end with their user. */
  onRevoked(offboarding: Offboarding, notify: OnPhoneRevoked): () => void {
    this.#listeners.push(notify);
    const stop = offboarding.onRevoked(notify);
    return () => {
      stop();
      this.#listeners.splice(this.#listeners.indexOf(notify), 1);
    };
  }

  /** Loads what is stored for `target`. The returned function makes it the login target; logins in progress end. */
  async prepare(target: string): Promise<() => void> {
    const pairings = new Pairings({ ...this.#deps, target });
    const recoveryCodes = new RecoveryCodeStore({ ...this.#deps, target });
    const remembered = openRemembered(this.#deps, { pairings, target });
    await Promise.all([pairings.load(), recoveryCodes.load(), remembered.load()]);
    const { deps = null } = this.#offboarding ?? {};
    const endedBeforeMs = { value: Number.POSITIVE_INFINITY };
    const offboarding = deps === null ? null : new Offboarding({
      ...deps,
      pairings,
      recoveryCodes,
      target,
      endedBeforeMs: () => endedBeforeMs.value,
    });
    await offboarding?.load();
    return () => {
      endedBeforeMs.value = this.#deps.clock.nowMs();
      this.#target = target;
      this.#pairings.use(pairings);
      this.#recoveryCodes.use(recoveryCodes);
      this.#remembered.use(remembered);
      if (offboarding === null) return;
      for (const notify of this.#listeners) offboarding.onRevoked(notify);
      this.#offboarding?.use(offboarding);
    };
  }
}

function openRemembered(
  { remembersDevices, ...deps }: LoginStoreDeps,
  { pairings, target }: { pairings: Pairings; target: string },
): RememberedDevices {
  return new RememberedDevices({
    ...deps,
    target,
    factorIds: (user) => pairings.of(user).map(({ id }) => id),
    isUsed: remembersDevices,
  });
}
