// The users of a test: their entries in the directory and their factors.

import type { NewPairing } from "../../../radius/factors/pairing.ts";
import type { FakePairing } from "../../fakes/second_factor_records.ts";
import { totpCode } from "../../support/totp.ts";
import { type InProcess, type InProcessOptions, startInProcess } from "./in_process.ts";
import type { Person } from "./people_directory.ts";

/** Adds a user to the directory. */
export async function register(
  { people }: InProcess,
  userName: string,
  person: Partial<Person> = {},
): Promise<void> {
  await people.put(userName.normalize("NFC").toLowerCase(), {
    userName,
    active: true,
    phoneNumbers: [],
    groups: [],
    ...person,
  });
}

/** Gives a user a factor that is ready to use. */
export async function give(world: InProcess, user: string, wanted: NewPairing): Promise<string> {
  const { mutation, marking, pairing } = world.radius.pairings.prepare(
    { canonical: user.toLowerCase(), shown: user },
    wanted,
  );
  await world.store.commit({ mutations: [mutation, ...marking] });
  world.radius.pairings.adopt(pairing);
  return pairing.id;
}

/** Pairs a device in the fake service and in the gateway. */
export async function giveDevice(
  world: InProcess,
  user: string,
  { totpLength = 6 }: { totpLength?: number } = {},
): Promise<FakePairing> {
  const pairing = world.secondFactor.pair({ userName: user, totpLength });
  await give(world, user, { kind: "device", id: pairing.id, totpLength });
  return pairing;
}

export const NUMBER = "+4915112345678";

/** A gateway whose user anna has an app with {@link SEED}, a device of the fake service, or texts to {@link NUMBER}. */
export async function startWith(
  factor: "app" | "device" | "text",
  options?: InProcessOptions,
): Promise<InProcess> {
  const world = await startInProcess(options);
  if (factor === "device") await giveDevice(world, "anna");
  else if (factor === "app") await give(world, "anna", { kind: "totp", seed: SEED });
  else await give(world, "anna", { kind: "sms", number: NUMBER });
  return world;
}

/** The newest authentication request of a device. */
export function lastRequest(world: InProcess, { id }: FakePairing) {
  const request = world.secondFactor.initiated().findLast(({ pairingId }) => pairingId === id);
  if (request === undefined) throw new Error("No approval was asked for");
  return request;
}

/** Decides about the newest request, like the user of the phone. */
export function decide(world: InProcess, pairing: FakePairing, granted: boolean): void {
  world.secondFactor.decide(lastRequest(world, pairing).id, { granted });
}

/** The passcode that was sent to a number last. */
export function passcodeSentTo(world: InProcess, number: string): string {
  const passcode = world.telephony.lastPasscode(number);
  if (passcode === undefined) throw new Error(`Nothing was sent to ${number}`);
  return passcode;
}

/** A different passcode of the same length. */
export function otherThan(passcode: string): string {
  return [...passcode].map((digit) => String((Number(digit) + 1) % 10)).join("");
}

const SEED_TEXT = "12345678901234567890";
export const SEED = new TextEncoder().encode(SEED_TEXT);

/** The code of an authenticator app with {@link SEED}, computed independently of the gateway's code. */
export const appCode = (atMs: number): string => totpCode(SEED_TEXT, atMs);
