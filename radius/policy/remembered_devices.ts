// Remembered devices: after a second factor, logins of the same user, client and Calling-Station-Id need none for a limited time. The three
// are stored as one keyed hash. A device counts only while the user has the same factors and nothing made the gateway forget it.

import { HOUR_MS } from "../../platform/durations.ts";
import { NO_CHANGE, type PreparedRename, type UnversionedChange } from "../../platform/write_batch.ts";
import type { Clock, Random } from "../../platform/runtime.ts";
import type { Mutation, Store, StoreEntry } from "../../platform/store.ts";
import type { Vault } from "../../platform/vault.ts";
import type { Factor } from "../flow/context.ts";
import { MAX_REMEMBER_HOURS, type PolicyRules } from "./policy.ts";

/** The device of a login: where it comes from, by whom. */
export interface LoginDevice {
  /** Canonical. */
  readonly user: string;
  readonly client: string;
  /** Calling-Station-Id as text; a login without one, or with U+FFFD in it, has no device. */
  readonly place: string;
}

export interface RememberedDevicesDeps {
  readonly store: Store;
  readonly vault: Vault;
  readonly clock: Pick<Clock, "nowMs">;
  readonly random: Random;
  readonly target: string;
  /** The ids of the user's factors. A change ends the trust in the user's devices. */
  readonly factorIds: (user: string) => readonly string[];
  /** Whether a policy remembers devices, so that a login in progress at another node can add one. */
  readonly isUsed: () => boolean;
}

/** The factor that a device was remembered with. `device_code`: a passcode of the phone, which is weaker than an approval there. */
type RememberedFactor = Factor | "device_code";

interface DeviceRecord {
  readonly atMs: number;
  readonly untilMs: number;
  /** The factors of the user at that time, as one text. */
  readonly factors: string;
  /** The user's epoch at that time. */
  readonly epoch: string;
  /** The name that the digest contains. Absent: that of the user. */
  readonly digestUser?: string;
  readonly used: RememberedFactor;
}

interface EpochRecord {
  readonly epoch: string;
}

/** An epoch is needed as long as a device of an earlier one. */
const EPOCH_STORED_MS = MAX_REMEMBER_HOURS * HOUR_MS;
/** Devices of one user. A further one replaces the oldest. */
const MAX_OF_USER = 20;
const FIRST_EPOCH = "";

/** A client can write U+FFFD for what is no text, so different places look the same. */
const isPlace = (place: string) => place !== "" && !place.includes("\ufffd");

function isAllowed(
  used: RememberedFactor,
  { enabled, deviceCodes }: Pick<PolicyRules, "enabled" | "deviceCodes">,
): boolean {
  return used === "device_code" ? deviceCodes : enabled.has(used);
}

export class RememberedDevices {
  readonly #deps: RememberedDevicesDeps;
  /** By user, then by digest. */
  readonly #devices = new Map<string, Map<string, DeviceRecord>>();
  readonly #epochs = new Map<string, string>();

  constructor(deps: RememberedDevicesDeps) {
    this.#deps = deps;
    deps.store.follow(["remembered_epoch", deps.target], (entry) => this.#applyEpoch(entry));
    deps.store.follow(["remembered_device", deps.target], (entry) => this.#applyDevice(entry));
  }

  async load(): Promise<void> {
    const { store, target } = this.#deps;
    await store.load(["remembered_epoch", target], (entry) => this.#applyEpoch(entry));
    await store.load(["remembered_device", target], (entry) => this.#applyDevice(entry));
  }

  /**
   * @param options.hours a shorter time than the device was remembered for
   * @param options.rules the device counts only if they allow the factor that it was remembered with
   */
  isRemembered(
    device: LoginDevice,
    { hours = MAX_REMEMBER_HOURS, rules }: {
      hours?: number;
      rules?: Pick<PolicyRules, "enabled" | "deviceCodes">;
    } = {},
  ): boolean {
    const devices = isPlace(device.place) ? this.#devices.get(device.user) : undefined;
    const record = devices === undefined ? undefined : this.#find(devices, device);
    if (record === undefined || (rules !== undefined && !isAllowed(record.used, rules))) return false;
    const nowMs = this.#deps.clock.nowMs();
    return this.#isValid(device.user, record, nowMs) && nowMs < record.atMs + hours * HOUR_MS;
  }

  /** How many devices of a user are remembered now. */
  count(user: string): number {
    const nowMs = this.#deps.clock.nowMs();
    return [...this.#devices.get(user)?.values() ?? []].filter((one) => this.#isValid(user, one, nowMs))
      .length;
  }

  /** Remembers the device of a login. `null` if it has none. The caller commits the mutations. */
  prepareRemember(
    device: LoginDevice,
    { hours, used }: { hours: number; used: RememberedFactor },
  ): UnversionedChange | null {
    const { user, place } = device;
    if (!isPlace(place)) return null;
    const nowMs = this.#deps.clock.nowMs();
    const digest = this.#digestOf(device);
    const record: DeviceRecord = {
      atMs: nowMs,
      untilMs: nowMs + hours * HOUR_MS,
      factors: this.#factorsOf(user),
      epoch: this.#epochOf(user),
      used,
    };
    const surplus = this.#surplus(user, digest, nowMs);
    const mutations: Mutation[] = [
      { type: "set", key: this.#keyOf(user, digest), value: record, expireInMs: hours * HOUR_MS },
      ...surplus.map((old): Mutation => ({ type: "delete", key: this.#keyOf(user, old) })),
    ];
    return {
      mutations,
      done: () => {
        for (const old of surplus) this.#devices.get(user)?.delete(old);
        this.#set(user, digest, record);
      },
      undo: () => undefined,
    };
  }

  /** Forgets every device of a user. A login in progress at another node cannot undo it, because its device belongs to the old epoch. */
  prepareForget(user: string): UnversionedChange {
    if (!this.#devices.has(user) && !this.#deps.isUsed()) return NO_CHANGE;
    const before = this.#epochs.get(user);
    const epoch = this.#deps.random.bytes(8).toHex();
    this.#epochs.set(user, epoch);
    return {
      mutations: [this.#epochMutation(user, epoch)],
      done: () => void this.#devices.delete(user),
      undo: () => {
        if (before === undefined) this.#epochs.delete(user);
        else this.#epochs.set(user, before);
      },
    };
  }

  /** Prepares the move of the devices to another name. Devices of the new name belong to a person outside the directory, and end. */
  prepareRename(from: string, to: string): PreparedRename {
    const devices = new Map(this.#devices.get(from));
    const others = new Map(this.#devices.get(to));
    const epochs = { from: this.#epochs.get(from), to: this.#epochs.get(to) };
    if (devices.size === 0 && others.size === 0 && !this.#deps.isUsed()) return NO_CHANGE;
    // A login in progress with either name cannot add a device: it ends.
    const epoch = this.#deps.random.bytes(8).toHex();
    const nowMs = this.#deps.clock.nowMs();
    const moved = new Map<string, DeviceRecord>();
    for (const [digest, device] of devices) {
      if (nowMs >= device.untilMs || device.epoch !== this.#epochOf(from)) continue;
      moved.set(digest, { ...device, epoch, digestUser: device.digestUser ?? from });
    }
    const deletions = ([user, of]: readonly [string, ReadonlyMap<string, DeviceRecord>]) =>
      [...of.keys()].map((digest): Mutation => ({ type: "delete", key: this.#keyOf(user, digest) }));
    this.#devices.delete(from);
    this.#devices.delete(to);
    return {
      mutations: [
        ...[[from, devices] as const, [to, others] as const].flatMap(deletions),
        ...[from, to].map((user) => this.#epochMutation(user, epoch)),
        ...[...moved].map(([digest, value]): Mutation => ({
          ...{ type: "set", key: this.#keyOf(to, digest), value },
          expireInMs: value.untilMs - nowMs,
        })),
      ],
      done: () => {
        for (const user of [from, to]) this.#epochs.set(user, epoch);
        if (moved.size > 0) this.#devices.set(to, moved);
      },
      undo: () => {
        for (const [user, of] of [[from, devices], [to, others]] as const) {
          if (of.size > 0) this.#devices.set(user, of);
        }
        if (epochs.from !== undefined) this.#epochs.set(from, epochs.from);
        if (epochs.to !== undefined) this.#epochs.set(to, epochs.to);
      },
    };
  }

  /** The record of a device, which may have been remembered under an earlier name of its user. */
  #find(devices: ReadonlyMap<string, DeviceRecord>, device: LoginDevice): DeviceRecord | undefined {
    const users = new Set([device.user]);
    for (const { digestUser } of devices.values()) if (digestUser !== undefined) users.add(digestUser);
    for (const user of users) {
      const record = devices.get(this.#digestOf({ ...device, user }));
      if (record !== undefined && (record.digestUser ?? device.user) === user) return record;
    }
    return undefined;
  }

  #epochMutation(user: string, epoch: string): Mutation {
    const value: EpochRecord = { epoch };
    const key = ["remembered_epoch", this.#deps.target, user];
    return { type: "set", key, value, expireInMs: EPOCH_STORED_MS };
  }

  #isValid(user: string, { untilMs, factors, epoch }: DeviceRecord, nowMs: number): boolean {
    return nowMs < untilMs && epoch === this.#epochOf(user) && factors === this.#factorsOf(user);
  }

  /** Devices that do not count any more, or the oldest one if the user has too many. */
  #surplus(user: string, digest: string, nowMs: number): string[] {
    const others = [...this.#devices.get(user) ?? []].filter(([one]) => one !== digest);
    const ended = others.filter(([, record]) => !this.#isValid(user, record, nowMs)).map(([one]) => one);
    if (others.length - ended.length < MAX_OF_USER) return ended;
    const valid = others.filter(([one]) => !ended.includes(one)).sort(([, a], [, b]) => a.atMs - b.atMs);
    return [...ended, ...valid.slice(0, valid.length - MAX_OF_USER + 1).map(([one]) => one)];
  }

  #set(user: string, digest: string, record: DeviceRecord): void {
    const devices = this.#devices.get(user);
    if (devices === undefined) this.#devices.set(user, new Map([[digest, record]]));
    else devices.set(digest, record);
  }

  #applyDevice({ key: [, , user, digest], value }: StoreEntry<unknown>): void {
    if (typeof user !== "string" || typeof digest !== "string") return;
    if (value === null) {
      const devices = this.#devices.get(user);
      devices?.delete(digest);
      if (devices?.size === 0) this.#devices.delete(user);
      return;
    }
    const record = value as DeviceRecord;
    if (typeof record.untilMs !== "number" || typeof record.factors !== "string") {
      throw new TypeError("it has no end and no factors, so this device is not remembered");
    }
    this.#set(user, digest, record);
  }

  #applyEpoch({ key: [, , user], value }: StoreEntry<unknown>): void {
    if (typeof user !== "string") return;
    if (value === null) return void this.#epochs.delete(user);
    this.#epochs.set(user, String((value as EpochRecord).epoch));
  }

  #epochOf(user: string): string {
    return this.#epochs.get(user) ?? FIRST_EPOCH;
  }

  #factorsOf(user: string): string {
    return [...this.#deps.factorIds(user)].sort().join(" ");
  }

  #digestOf({ user, client, place }: LoginDevice): string {
    const { vault, target } = this.#deps;
    return vault.digest("remembered device", [target, user, client, place].join("\0"));
  }

  #keyOf(user: string, digest: string): Deno.KvKey {
    return ["remembered_device", this.#deps.target, user, digest];
  }
}
