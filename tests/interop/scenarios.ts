// The logins that every peer runs, as rows: the user's factor, the events, and the result.

import type { Login, Verdict } from "./peers/login.ts";
import { totpCode } from "../support/totp.ts";
import type { ProgramWithServices } from "../fakes/program_services.ts";

/** The data of one user, so that no login affects another's. */
export interface Person {
  readonly name: string;
  readonly phone: string;
  readonly devicePairing: string;
}

/** A login from the first prompt to the end. */
export interface ScenarioRow {
  readonly title: string;
  /** The arguments after the user's name in `deno task pair`. */
  readonly factor: (person: Person) => readonly string[];
  readonly play: (login: Login, scene: { world: ProgramWithServices; person: Person }) => Promise<void>;
  readonly verdict: Verdict;
  /** Part of the Reply-Message of a Reject, for peers that show it. */
  readonly message?: string;
}

const TOTP_SEED = "12345678901234567890";
const TOTP_SEED_BASE32 = "GEZDGNBVGY3TQOJQGEZDGNBVGY3TQOJQ";

const byDevice = ({ devicePairing }: Person) => ["--device", devicePairing];
const byText = ({ phone }: Person) => ["--sms", phone];
const byVoice = ({ phone }: Person) => ["--voice", phone];
const byTotp = () => ["--totp", TOTP_SEED_BASE32];

/** The passcode that was last sent to a user. */
export function sentPasscode(world: ProgramWithServices, { phone }: Person): string {
  const passcode = world.telephony.lastPasscode(phone);
  if (passcode === undefined) throw new Error(`Nothing was sent to ${phone}`);
  return passcode;
}

/** Decides the pending request on a user's device. */
export function decideOnDevice(
  world: ProgramWithServices,
  { devicePairing }: Person,
  granted: boolean,
): void {
  const request = world.secondFactor.initiated().findLast((one) => one.pairingId === devicePairing);
  if (request === undefined) throw new Error("No approval was asked for");
  world.secondFactor.decide(request.id, { granted });
}

/** A different passcode of the same length. */
export function otherThan(passcode: string): string {
  return [...passcode].map((digit) => String((Number(digit) + 1) % 10)).join("");
}

export const SCENARIOS: readonly ScenarioRow[] = [
  {
    title: "approval on the device",
    factor: byDevice,
    verdict: "accept",
    async play(login, { world, person }) {
      await login.shows("on your device");
      decideOnDevice(world, person, true);
      await login.answer("continue");
    },
  },
  {
    title: "approval on the device after asking too early",
    factor: byDevice,
    verdict: "accept",
    async play(login, { world, person }) {
      await login.shows("on your device");
      await login.answer("continue");
      await login.shows("Still waiting");
      decideOnDevice(world, person, true);
      await login.answer("continue");
    },
  },
  {
    title: "denial on the device",
    factor: byDevice,
    verdict: "reject",
    message: "evice approval was not given",
    async play(login, { world, person }) {
      await login.shows("on your device");
      decideOnDevice(world, person, false);
      await login.answer("continue");
    },
  },
  {
    title: "passcode by text message",
    factor: byText,
    verdict: "accept",
    async play(login, { world, person }) {
      await login.shows("passcode from the text message");
      await login.answer(sentPasscode(world, person));
    },
  },
  {
    title: "passcode by voice",
    factor: byVoice,
    verdict: "accept",
    async play(login, { world, person }) {
      await login.shows("passcode conveyed by voice");
      await login.answer(sentPasscode(world, person));
    },
  },
  {
    title: "passcode generated on the device",
    factor: byTotp,
    verdict: "accept",
    async play(login) {
      await login.shows("passcode that your device generates");
      await login.answer(totpCode(TOTP_SEED, Date.now()));
    },
  },
  {
    title: "wrong passcode",
    factor: byVoice,
    verdict: "reject",
    message: "submitted passcode does not match",
    async play(login, { world, person }) {
      await login.shows("passcode conveyed by voice");
      await login.answer(otherThan(sentPasscode(world, person)));
    },
  },
  {
    title: "cancel, then another passcode by text message",
    factor: byText,
    verdict: "accept",
    async play(login, { world, person }) {
      await login.shows("passcode from the text message");
      await login.answer("Cancel");
      await login.shows("Choose a second factor");
      await login.answer("t");
      await login.shows("passcode from the text message");
      await login.answer(sentPasscode(world, person));
    },
  },
  {
    title: "cancel, after which the earlier passcode counts no more",
    factor: byText,
    verdict: "reject",
    message: "submitted passcode does not match",
    async play(login, { world, person }) {
      await login.shows("passcode from the text message");
      const earlier = sentPasscode(world, person);
      await login.answer("cancel");
      await login.shows("Choose a second factor");
      await login.answer("T");
      await login.shows("passcode from the text message");
      // One new passcode in a million equals the earlier one by chance.
      await login.answer(earlier === sentPasscode(world, person) ? otherThan(earlier) : earlier);
    },
  },
];
