// The people of a test: who is in the directory, and which factors they have.

import type { NewPairing } from "../../../radius/factors/pairing.ts";
import type { FakePairing } from "../../fakes/second_factor_records.ts";
import { totpCode } from "../../support/totp.ts";
import type { InProcess } from "./in_process.ts";
import type { Person } from "./people_directory.ts";

/** Puts a user into the directory. */
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
  const { mutation, pairing } = world.radius.pairings.prepare(
    { canonical: user.toLowerCase(), shown: user },
    wanted,
  );
  await world.store.commit({ mutations: [mutation] });
  world.radius.pairings.adopt(pairing);
  return pairing.id;
}

/** Pairs a device at the fake service and here. */
export async function giveDevice(
  world: InProcess,
  user: string,
  { totpLength = 6 }: { totpLength?: number } = {},
): Promise<FakePairing> {
  const pairing = world.secondFactor.pair({ userName: user, totpLength });
  await give(world, user, { kind: "device", id: pairing.id, totpLength });
  return pairing;
}

/** The authentication request that was opened last for a device. */
export function lastRequest(world: InProcess, { id }: FakePairing) {
  const request = world.secondFactor.initiated().findLast(({ pairingId }) => pairingId === id);
  if (request === undefined) throw new Error("No approval was asked for");
  return request;
}

/** The person with the phone decides about the request that was opened last. */
export function decide(world: InProcess, pairing: FakePairing, granted: boolean): void {
  world.secondFactor.decide(lastRequest(world, pairing).id, { granted });
}

/** The passcode that went to a number last. */
export function passcodeSentTo(world: InProcess, number: string): string {
  const passcode = world.telephony.lastPasscode(number);
  if (passcode === undefined) throw new Error(`Nothing was sent to ${number}`);
  return passcode;
}

/** A passcode of the same length that is certainly another one. */
export function otherThan(passcode: string): string {
  return [...passcode].map((digit) => String((Number(digit) + 1) % 10)).join("");
}

const SEED_TEXT = "12345678901234567890";
export const SEED = new TextEncoder().encode(SEED_TEXT);

/** What an authenticator app with {@link SEED} shows, worked out apart from the gateway's code. */
export const appCode = (atMs: number): string => totpCode(SEED_TEXT, atMs);
