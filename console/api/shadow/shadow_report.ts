// The report of shadow mode: which of the observed logins would pass with a second factor, who has none yet, and which clients would not wait long
// enough. It uses the users, factors, policies and settings of now, so it changes when they do. Nothing is sent, counted or recorded.

import { CLIENT_MARGIN_S } from "../../../platform/client_guides.ts";
import {
  isRelaying,
  mayOmitSignatureOfChap,
  type RequestSettings,
} from "../../../platform/client_settings.ts";
import { type Clock, pauseFor } from "../../../platform/runtime.ts";
import type { DryRunResult } from "../../../radius/conversation/login_dry_run.ts";
import type { Client } from "../../../radius/server/clients.ts";
import { EAP_METHODS } from "../../../radius/protocol/eap.ts";
import {
  addCounts,
  NO_LOGIN,
  type ShadowDay,
  type ShadowLearner,
  type ShadowTraits,
  type ShadowUser,
  traitsOf,
} from "../../../radius/shadow/shadow_learner.ts";
import { percentileMs } from "../charts/chart_series.ts";
import type { People } from "../deps.ts";

/** What the gateway has of shadow mode. */
export interface ShadowSource {
  readonly learner: Pick<ShadowLearner, "clients" | "total" | "users">;
  /** The clients that are served. */
  readonly clients: () => readonly Pick<Client, "name" | "settings" | "hasNetwork">[];
  /** Whether the console can change the client. */
  readonly isOfConsole: (client: string) => boolean;
}

/**
 * Why a login would be refused: the request (`method`, `eap_outer_identity`, `unsigned`, `no_login`), the user, or the lack of a factor.
 * `needs_phone`: the method shows no prompt, so only a phone can approve. Messages: `shadow.obstacle_<name>`.
 */
export const SHADOW_OBSTACLES = [
  ...["no_factor", "needs_phone", "unknown", "inactive", "locked", "policy"] as const,
  ...["method", "eap_outer_identity", "unsigned", "no_login"] as const,
] as const;
export type ShadowObstacle = typeof SHADOW_OBSTACLES[number];

/** Those that an invitation to set up a phone ends. */
const INVITABLE: ReadonlySet<ShadowObstacle | null> = new Set(["no_factor", "needs_phone"] as const);

/** A recommendation for a client, with its values in whole seconds or logins. Messages: `shadow.advice_<code>`. */
export interface ShadowAdvice {
  readonly code:
    /** It stopped waiting earlier than `hold_s`. */
    | "times_out"
    /** So far, no answer took as long as `hold_s`. */
    | "may_time_out"
    /** One login in twenty takes longer than `hold_s`. */
    | "hold_short"
    /** It shows prompts, and need not hold. */
    | "prompts"
    /** The present server never sent a prompt, and this client is set to send one. */
    | "no_prompts"
    /** The present server did not answer. */
    | "unanswered";
  readonly values: Readonly<Record<string, number>>;
}

interface ShadowMethod {
  readonly method: string;
  readonly logins: number;
  /** Logins with a challenge; unsigned ones; those whose Access-Accept had a User-Name. */
  readonly prompted: number;
  readonly unsigned: number;
  readonly named: number;
}

export interface ShadowClientReport {
  readonly client: string;
  /** Whether the console can change the client. */
  readonly isOfConsole: boolean;
  readonly mode: RequestSettings["mode"];
  readonly lastMs: number;
  /** Logins by the answer of the present server; challenges; requests without an answer. */
  readonly accepted: number;
  readonly rejected: number;
  readonly challenged: number;
  readonly unanswered: number;
  /** Accepted logins whose user was not recorded. They are in none of the counts below. */
  readonly unrecorded: number;
  readonly methods: readonly ShadowMethod[];
  readonly p50Ms: number | null;
  readonly p95Ms: number | null;
  readonly maxMs: number;
  /** The usual time between two tries of the client; `null`: it never tried again. */
  readonly retryS: number | null;
  readonly tries: number;
  /** How long the client waited before it stopped; `null`: that was not seen. */
  readonly patienceMs: number | null;
  readonly holdMs: number;
  readonly device: RequestSettings["device"];
  readonly users: number;
  /** Logins of recorded users that would pass, and the others by obstacle. */
  readonly passed: number;
  readonly refused: Readonly<Partial<Record<ShadowObstacle, number>>>;
  /** Users of whom each login would be refused, by the obstacle of the user. */
  readonly people: Readonly<Partial<Record<ShadowObstacle, number>>>;
  readonly advice: readonly ShadowAdvice[];
}

export interface ShadowUserRow {
  readonly user: string;
  readonly client: string;
  readonly logins: number;
  readonly lastMs: number;
  readonly methods: readonly string[];
  /** The first obstacle; `null`: each login would pass. */
  readonly obstacle: ShadowObstacle | null;
  /** Whether an invitation to set up a phone helps. */
  readonly canInvite: boolean;
}

export interface ShadowReport {
  /** When it was made. */
  readonly nowMs: number;
  readonly clients: readonly ShadowClientReport[];
  readonly users: readonly ShadowUserRow[];
}

interface ShadowReportDeps {
  readonly shadow: ShadowSource;
  readonly people: Pick<People, "trials" | "pairings" | "factors">;
  readonly clock: Clock;
}

/** Users between two pauses, so that logins go first. */
const USERS_AT_ONCE = 200;

/** The report of all observations since a moment. */
export async function readShadowReport(deps: ShadowReportDeps, sinceMs: number): Promise<ShadowReport> {
  const { shadow: { learner, clients: served, isOfConsole }, clock } = deps;
  const observed = learner.clients();
  const clients: ShadowClientReport[] = [];
  const users: ShadowUserRow[] = [];
  for (const { name, settings, hasNetwork } of served().toSorted((a, b) => a.name < b.name ? -1 : 1)) {
    if (settings.mode !== "shadow" && !observed.has(name)) continue;
    const forecasts: UserForecast[] = [];
    for (const user of learner.users(name, sinceMs)) {
      forecasts.push(await forecastUser(deps, { ...settings, hasNetwork }, user));
      if (forecasts.length % USERS_AT_ONCE === 0) await pauseFor(clock, 1);
    }
    const observations = { day: learner.total(name, sinceMs), forecasts };
    clients.push({ ...clientReport({ name, settings }, observations), isOfConsole: isOfConsole(name) });
    users.push(...forecasts.map(({ row }) => row));
  }
  users.sort((a, b) => b.lastMs - a.lastMs);
  return { nowMs: clock.nowMs(), clients, users };
}

interface UserForecast {
  readonly row: ShadowUserRow;
  readonly passed: number;
  readonly refused: Readonly<Record<string, number>>;
}

async function forecastUser(
  { people }: ShadowReportDeps,
  settings: RequestSettings & { readonly hasNetwork: boolean },
  { client, user, shown, lastMs, kinds }: ShadowUser,
): Promise<UserForecast> {
  const run = await people.trials.run({ client, user, method: "pap", password: "right", appended: null });
  // A relayed login asks a phone if there is one; another login asks the preferred factor.
  const prefersPhone = run?.steps.at(-1)?.row === "device_picked";
  const hasPhone = people.factors.enabled.includes("device") &&
    people.pairings.usable(user).some(({ kind }) => kind === "device");
  const refused: Record<string, number> = {};
  let passed = 0;
  for (const [kind, logins] of Object.entries(kinds)) {
    const traits = traitsOf(kind);
    const showsPrompts = traits.method === "PAP" || (traits.method === "EAP-GTC" && settings.eap === "gtc");
    const how = showsPrompts
      ? { isHeld: settings.device === "hold", hasPhone: prefersPhone }
      : { isHeld: true, hasPhone };
    const obstacle = obstacleOfRequest(traits, settings) ?? obstacleOfUser(run, how);
    if (obstacle === null) passed += logins;
    else refused[obstacle] = (refused[obstacle] ?? 0) + logins;
  }
  const obstacle = SHADOW_OBSTACLES.find((one) => refused[one] !== undefined) ?? null;
  const methods = [...new Set(Object.keys(kinds).map((kind) => traitsOf(kind).method))];
  const logins = Object.values(kinds).reduce((sum, count) => sum + count, 0);
  const row = { user: shown, client, logins, lastMs, methods, obstacle, canInvite: INVITABLE.has(obstacle) };
  return { row, passed, refused };
}

const BOUND_EAP: ReadonlySet<string> = new Set(
  Object.entries(EAP_METHODS).filter(([, row]) => row.isIdentityBound).map(([name]) => name),
);
const NOT_EAP: ReadonlySet<string> = new Set(["PAP", "CHAP", "MS-CHAPv1", "MS-CHAPv2"]);

type RequestRules =
  & Pick<
    RequestSettings,
    "messageAuthenticator" | "firstFactor" | "eap" | "eapOuterIdentity"
  >
  & { readonly hasNetwork: boolean };

/** What refuses a request before its user is looked up. */
export function obstacleOfRequest(
  { method, isPrompted, isSigned, isNamed }: ShadowTraits,
  settings: RequestRules,
): ShadowObstacle | null {
  if (method === NO_LOGIN) return "no_login";
  if (method === "PAP") return null;
  const isEap = !NOT_EAP.has(method);
  const { eap, eapOuterIdentity } = settings;
  const isRefused = isEap
    ? eap === "refuse" || (eap === "gtc" && method !== "EAP-GTC")
    // A prompt of the server has no place in them.
    : isPrompted || !isRelaying(settings);
  if (settings.firstFactor !== "radius" || isRefused) return "method";
  if (!isSigned && (isEap || !mayOmitSignatureOfChap(settings))) return "unsigned";
  if (!isEap || BOUND_EAP.has(method) || eapOuterIdentity === "trust") return null;
  return eapOuterIdentity === "reply" && isNamed ? null : "eap_outer_identity";
}

/** The rows of the flow table that refuse a login without a factor, or ask for one that the user has not. */
const WITHOUT_FACTOR: ReadonlySet<string> = new Set(["nothing_paired", "required_pairing"]);
const WITHOUT_FACTOR_BEGINNINGS = ["overdue", "needs_"];

/**
 * What refuses the login of a user, whose password is right.
 *
 * @param run `null`: the client is not served
 * @param options.isHeld no prompt is possible, so only a phone can approve
 * @param options.hasPhone whether the login would ask a phone
 */
export function obstacleOfUser(
  run: DryRunResult | null,
  { isHeld, hasPhone }: { readonly isHeld: boolean; readonly hasPhone: boolean },
): ShadowObstacle | null {
  if (run === null || run.end === "accept") return null;
  const last = run.steps.at(-1)?.row ?? "";
  if (WITHOUT_FACTOR.has(last)) return !isHeld && run.hasNumber ? null : "no_factor";
  if (WITHOUT_FACTOR_BEGINNINGS.some((begin) => last.startsWith(begin))) return "no_factor";
  if (run.end === "reject") return run.because === null ? "policy" : REFUSALS[run.because];
  return isHeld && !hasPhone ? "needs_phone" : null;
}

const REFUSALS = {
  inactive: "inactive",
  deleted: "unknown",
  unknown: "unknown",
  locked: "locked",
  chap: "method",
  eap: "method",
} as const satisfies Record<NonNullable<DryRunResult["because"]>, ShadowObstacle>;

function clientReport(
  { name, settings }: Pick<Client, "name" | "settings">,
  { day, forecasts }: { day: ShadowDay | null; forecasts: readonly UserForecast[] },
): Omit<ShadowClientReport, "isOfConsole"> {
  const { mode, holdMs, device } = settings;
  const people: Partial<Record<ShadowObstacle, number>> = {};
  for (const { row: { obstacle } } of forecasts) {
    if (obstacle !== null) people[obstacle] = (people[obstacle] ?? 0) + 1;
  }
  const { times = [], maxMs = 0, gaps = {}, gaveUp = 0 } = day ?? {};
  const report = {
    ...{ client: name, mode, holdMs, device, lastMs: day?.lastMs ?? 0 },
    ...{ accepted: day?.accepted ?? 0, rejected: day?.rejected ?? 0, challenged: day?.challenged ?? 0 },
    ...{ unanswered: day?.unanswered ?? 0, unrecorded: day?.unrecorded ?? 0 },
    methods: methodsOf(day?.kinds ?? {}),
    ...{ p50Ms: percentileMs(times, 0.5, maxMs), p95Ms: percentileMs(times, 0.95, maxMs), maxMs },
    ...{ retryS: mostFrequent(gaps), tries: day?.tries ?? 0 },
    patienceMs: gaveUp === 0 ? null : day?.patienceMs ?? null,
    users: forecasts.length,
    passed: forecasts.reduce((sum, { passed }) => sum + passed, 0),
    refused: forecasts.reduce((sum, { refused }) => addCounts(sum, refused), {}),
    people,
  };
  return { ...report, advice: adviceOf(report, day?.quietMs ?? 0) };
}

function methodsOf(kinds: ShadowDay["kinds"]): ShadowMethod[] {
  const methods = new Map<string, ShadowMethod>();
  for (const [kind, logins] of Object.entries(kinds)) {
    const { method, isPrompted, isSigned, isNamed } = traitsOf(kind);
    const known = methods.get(method) ?? { method, logins: 0, prompted: 0, unsigned: 0, named: 0 };
    methods.set(method, {
      method,
      logins: known.logins + logins,
      prompted: known.prompted + (isPrompted ? logins : 0),
      unsigned: known.unsigned + (isSigned ? 0 : logins),
      named: known.named + (isNamed ? logins : 0),
    });
  }
  return [...methods.values()].sort((a, b) => b.logins - a.logins);
}

function mostFrequent(gaps: ShadowDay["gaps"]): number | null {
  const [most] = Object.entries(gaps).sort(([, a], [, b]) => b - a);
  return most === undefined ? null : Number(most[0]);
}

/** The answer needs this time after the decision. */
const ANSWER_MS = 2000;
/** A shorter `hold_s` gives no time to approve. */
const MIN_HOLD_S = 10;

/** What to set before the client is moved over. @param quietMs the longest wait for an answer without another try */
export function adviceOf(
  { accepted, methods, device, holdMs, patienceMs, maxMs, p95Ms, unanswered }: Pick<
    ShadowClientReport,
    "accepted" | "methods" | "device" | "holdMs" | "patienceMs" | "maxMs" | "p95Ms" | "unanswered"
  >,
  quietMs: number,
): ShadowAdvice[] {
  const advice: ShadowAdvice[] = [];
  const holdS = Math.ceil(holdMs / 1000);
  const pap = methods.find(({ method }) => method === "PAP");
  const isHeld = device !== "challenge" || methods.some(({ method }) => method !== "PAP");
  const longestMs = Math.max(quietMs, maxMs);
  if (isHeld && patienceMs !== null && patienceMs < holdMs + ANSWER_MS) {
    const waits = Math.floor(patienceMs / 1000);
    const hold = Math.floor((patienceMs - ANSWER_MS) / 1000);
    advice.push({
      code: "times_out",
      values: {
        waits,
        hold: holdS,
        client: holdS + CLIENT_MARGIN_S,
        ...hold < MIN_HOLD_S ? {} : { to: hold },
      },
    });
  } else if (isHeld && accepted > 0 && patienceMs === null && longestMs < holdMs + ANSWER_MS) {
    const seen = Math.max(1, Math.round(longestMs / 1000));
    advice.push({ code: "may_time_out", values: { seen, hold: holdS, client: holdS + CLIENT_MARGIN_S } });
  }
  if (isHeld && p95Ms !== null && p95Ms > holdMs) {
    advice.push({ code: "hold_short", values: { p95: Math.ceil(p95Ms / 1000), hold: holdS } });
  }
  if (pap !== undefined && device === "hold" && pap.prompted > 0) {
    advice.push({ code: "prompts", values: { logins: pap.prompted } });
  }
  if (pap !== undefined && device === "challenge" && pap.prompted === 0) {
    advice.push({ code: "no_prompts", values: { logins: pap.logins } });
  }
  if (unanswered > 0) advice.push({ code: "unanswered", values: { requests: unanswered } });
  return advice;
}
