// The embedded second-factor service: the port of the gateway, the service of the phone page, and the administration for
// the console. Nothing is serialized, signed or sent.

import type {
  ApprovalContext,
  ApprovalRequest,
  Fault,
  Outcome,
  SecondFactorService,
} from "../../../radius/ports.ts";
import {
  createContext,
  type EmbeddedSecondFactorSettings,
  type SecondFactorContext,
  type SecondFactorDeps,
} from "./context.ts";
import { EmbeddedDeviceService, PairingEvents } from "./device_service.ts";
import type {
  CallerVerification,
  CallerVerifications,
  DeviceService,
  SecondFactorAdmin,
} from "./interfaces.ts";
import { PairingInvitations } from "./invitations.ts";
import { DevicePairings, PairingPhrases } from "./pairings.ts";
import { createPhonePages, PhoneDevices, type PhonePages } from "../push/phone_pages.ts";
import { type PushDeps, PushNotifications } from "../push/push_notifications.ts";
import {
  type ApprovalRecord,
  approvalState,
  byUser,
  byVerified,
  CAPS,
  deniedPairing,
  deniedRequest,
  isVerification,
  pendingApproval,
  phoneRequest,
  portApproval,
  portPairing,
  refusePhone,
  requestDenial,
  verificationView,
  VERIFYING,
} from "./records.ts";
import { ApprovalRequests } from "./requests.ts";
import { RunningTasks } from "../../../platform/semaphore.ts";
import {
  NO_CHANGE,
  type PreparedRename,
  type PrepareRename,
  type Rename,
} from "../../../platform/write_batch.ts";
import { failed } from "../../http/service_caller.ts";
import { prepareChanges } from "../../../platform/table.ts";
import { canonicalName } from "../../../platform/canonical_name.ts";
import { HOUR_MS } from "../../../platform/durations.ts";
import { createRateLimit, type RateLimit } from "../../../platform/limit_table.ts";

export interface EmbeddedSecondFactor {
  /** The port of the gateway. */
  readonly service: SecondFactorService;
  readonly phone: DeviceService;
  readonly admin: SecondFactorAdmin;
  /** Push messages and the last use of phones; `null` without {@link PushDeps}. */
  readonly pages: PhonePages | null;
  /** The phones and invitations of a renamed user follow. */
  readonly prepareRename: PrepareRename;
  /** Reads the store. Call it once, before anything else. */
  load(): Promise<void>;
  /** Stops the timer of expiring requests, and waits for its last commit. */
  close(): Promise<void>;
}

/**
 * @param deps.onBug receives the error of an operation that failed; the caller of the operation receives a fault.
 * @param deps.push absent: no push messages.
 */
export function createEmbeddedSecondFactor(
  { onBug = () => undefined, push: pushDeps, ...deps }: SecondFactorDeps & {
    onBug?: (fault: unknown) => void;
    push?: Omit<PushDeps, "onBug">;
  },
): EmbeddedSecondFactor {
  const context = createContext(deps);
  const requests = new ApprovalRequests(context);
  const pairings = new DevicePairings(context, requests);
  const phrases = new PairingPhrases(context, pairings);
  const invitations = new PairingInvitations(context, pairings);
  const events = new PairingEvents();
  const running = new RunningTasks();
  const push = pushDeps === undefined ? null : new PushNotifications(context, { ...pushDeps, onBug });

  return {
    pages: push && createPhonePages({ context, pairings, push, devices: new PhoneDevices(context) }),
    service: {
      ...createEmbeddedService({ requests, pairings, phrases, running, onBug, denials: context.denials }),
      hasOpenInvitation: (user) => invitations.hasOpen(user),
      prepareInvitationEnds: (user) => invitations.prepareEnds(user),
    },
    phone: new EmbeddedDeviceService(context, { requests, pairings, phrases, invitations, events }),
    admin: createAdmin({
      ...{ requests, pairings, invitations, events, settings: deps.settings },
      verifications: new EmbeddedCallerVerifications(context, requests, pairings),
    }),
    prepareRename: (rename) => Promise.resolve(prepareServiceRename(context, rename)),
    async load() {
      await context.tables.load();
      await push?.open();
      requests.resume();
    },
    async close() {
      await running.settled();
      await requests.stop();
      await push?.close();
    },
  };
}

function createAdmin(
  { requests, pairings, invitations, events, settings, verifications }: {
    settings: Pick<EmbeddedSecondFactorSettings, "requesterName">;
    requests: ApprovalRequests;
    pairings: DevicePairings;
    invitations: PairingInvitations;
    events: PairingEvents;
    verifications: CallerVerifications;
  },
): SecondFactorAdmin {
  return {
    verifications,
    invite: (userName, options) => invitations.create(userName, options),
    prepareInvitation: (userName, options) => invitations.prepare(userName, options),
    isInvitationOpen: (id) => invitations.isOpen(id),
    prepareInvitationEnd: (id) => invitations.prepareEnd(id),
    prepareInvitationUse: (invitation, source) => invitations.prepareUse(invitation, source),
    pendingCount: () => requests.waitingCount(),
    pendingApprovals: (newest) => requests.waiting(newest).map(pendingApproval),
    deny: async (requestId, options) =>
      requests.findLogin(requestId) !== undefined &&
      await requests.decide(requestId, "denied_by_administrator", options) === "won",
    cancel: async (requestId, options) =>
      requests.findLogin(requestId) !== undefined &&
      await requests.decide(requestId, "cancelled_by_administrator", options) === "won",
    request(requestId) {
      const request = requests.findLogin(requestId);
      if (request === undefined) return null;
      const { pairingId, decision } = request;
      return { ...phoneRequest(request, settings.requesterName), pairingId, state: approvalState(decision) };
    },
    async decide(requestId, decision, options) {
      const request = requests.findLogin(requestId);
      return request === undefined
        ? refusePhone("unknown_request")
        : await requests.decideAsPerson(request, { ...options, decision });
    },
    usePasscode: (pairingId, code) => pairings.usePasscode(pairingId, code),
    pairingsOfSamePhone(pairingId) {
      const phone = pairings.find(pairingId)?.phone;
      return phone === undefined ? [] : pairings.ofPhone(phone).map(({ id }) => id);
    },
    revokePairing: async (pairingId) => await pairings.end(pairingId) !== null,
    onChange: (notify) => requests.onChange(notify),
    onPaired: (notify) => events.onPaired(notify),
    onUnpaired: (notify) => events.onUnpaired(notify),
  };
}

/** What this service refuses, with the status, code and text that an external service answers. */
const FAULTS = {
  bad_request: { kind: "refused", status: 400, code: 400, detail: "Bad Request" },
  not_found: { kind: "unknown", code: 404, detail: "Not Found" },
  not_authorized: {
    kind: "refused",
    status: 409,
    code: 601,
    detail: "This pairing has not been authorized to authenticate",
  },
  deactivated: { kind: "refused", status: 409, code: 707, detail: "This pairing has been deactivated" },
  too_many: { kind: "busy", retryAfterMs: 0, detail: "Too Many Requests" },
  broken: { kind: "failed", status: 500, detail: "Internal Server Error" },
} as const satisfies Record<string, Fault>;

const MAX_PASSCODE_CHARACTERS = 16;

/** Runs an operation of the port. An error inside goes to `onBug`; the caller receives a fault. */
function createOperationGuard(
  { running, onBug }: { running: RunningTasks; onBug: (fault: unknown) => void },
) {
  return <T>(operation: () => Outcome<T> | Promise<Outcome<T>>): Promise<Outcome<T>> =>
    running.run(async () => {
      try {
        return await operation();
      } catch (fault) {
        onBug(fault);
        return failed(FAULTS.broken);
      }
    });
}

/** @param parts.onBug receives the error of an operation that failed; the caller of the operation receives a fault. */
function createEmbeddedService(
  parts: {
    requests: ApprovalRequests;
    pairings: DevicePairings;
    phrases: PairingPhrases;
    running: RunningTasks;
    onBug: (fault: unknown) => void;
    denials: SecondFactorContext["denials"];
  },
): SecondFactorService {
  const { requests, pairings, phrases, running, onBug } = parts;

  const guarded = createOperationGuard({ running, onBug });

  const answerOf = (record: ApprovalRecord | undefined): Outcome<ApprovalRequest> =>
    record === undefined || pairings.find(record.pairingId) === undefined
      ? failed(FAULTS.not_found)
      : { ok: true, value: portApproval(record) };

  return {
    embedded: true,

    initiate: ({ pairingId, terminalName, context }) =>
      guarded(async () => {
        if (!isText(pairingId) || !isText(terminalName)) return failed(FAULTS.bad_request);
        const pairing = pairings.find(pairingId);
        if (pairing === undefined) return failed(FAULTS.not_found);
        if (pairing.state === "asks_approval") return failed(FAULTS.not_authorized);
        if (pairing.state !== "enabled") return failed(FAULTS.deactivated);
        const record = await requests.open(pairing, { terminalName, login: shorten(context) });
        if (record !== null) return answerOf(record);
        return failed(pairings.find(pairingId)?.state === "enabled" ? FAULTS.too_many : FAULTS.deactivated);
      }),

    status: (requestId) => guarded(() => answerOf(requests.findLogin(requestId))),

    otpAuth: (requestId, otp, also) =>
      guarded(async () => {
        if (!isText(otp, MAX_PASSCODE_CHARACTERS)) return failed(FAULTS.bad_request);
        // A request that is already decided keeps its decision, and the answer contains it.
        if (requests.findLogin(requestId) === undefined) return failed(FAULTS.not_found);
        await requests.decideByPasscode(requestId, otp, also);
        return answerOf(requests.findLogin(requestId));
      }),

    createPairing: ({ phrase, userName }) =>
      guarded(async () => {
        if (!isText(phrase) || !isText(userName)) return failed(FAULTS.bad_request);
        const typed = await phrases.redeem(phrase, userName);
        if (typed.ok) return { ok: true, value: portPairing(typed.pairing) };
        if (typed.reason === "unknown") return failed(FAULTS.not_found);
        return failed({ ...FAULTS.too_many, retryAfterMs: typed.waitMs });
      }),

    pairing: (pairingId) =>
      guarded(() => {
        const record = pairings.find(pairingId);
        return record === undefined ? failed(FAULTS.not_found) : { ok: true, value: portPairing(record) };
      }),

    cancel: (requestId) =>
      running.run(async () => {
        try {
          if (requests.findLogin(requestId) === undefined) return;
          await requests.decide(requestId, "cancelled_by_login");
        } catch (fault) {
          onBug(fault);
        }
      }),

    onDecision: (requestId, notify) => requests.onDecision(requestId, notify),

    ...createDenials(parts),
  };
}

/** Why requests and pairings are not approved. */
function createDenials(
  { requests, pairings, denials }: {
    requests: ApprovalRequests;
    pairings: DevicePairings;
    denials: SecondFactorContext["denials"];
  },
): Required<Pick<SecondFactorService, "denialOnExpiry" | "onDenied" | "findDenied">> {
  return {
    denialOnExpiry(requestId) {
      const record = requests.findLogin(requestId);
      if (record === undefined) return undefined;
      return record.decision === null ? { cause: "expired" } : requestDenial(record);
    },
    onDenied(notify) {
      denials.add(notify);
      return () => denials.delete(notify);
    },
    findDenied(id) {
      const [request, pairing] = [requests.find(id), pairings.find(id)];
      return request === undefined ? pairing && deniedPairing(pairing) : deniedRequest(request);
    },
  };
}

function isText(text: string, maxCharacters: number = CAPS.nameCharacters): boolean {
  return text !== "" && text.length <= maxCharacters;
}

function shorten({ client, place, hasPrompt }: ApprovalContext): ApprovalContext {
  const cut = (text: string) => text.toWellFormed().slice(0, CAPS.contextCharacters).toWellFormed();
  return { client: cut(client), place: cut(place), hasPrompt };
}

function prepareServiceRename(
  { tables: { pairings, invitations }, phoneEvents }: SecondFactorContext,
  { kind, from, name }: Rename,
): PreparedRename {
  if (kind === "group") return NO_CHANGE;
  const paired = pairings.list(byUser(from));
  const invited = invitations.list(byUser(from));
  const { done, ...prepared } = prepareChanges([
    ...paired.map((row) => pairings.replace(row, { ...row.value, userName: name })),
    ...invited.map((row) => invitations.replace(row, { ...row.value, userName: name })),
  ]);
  return {
    ...prepared,
    done(versionstamp) {
      done(versionstamp);
      for (const { value } of paired) phoneEvents.emit(value.phone);
    },
  };
}

const DEFAULT_PER_HOUR = 5;

class EmbeddedCallerVerifications implements CallerVerifications {
  readonly #context: SecondFactorContext;
  readonly #requests: ApprovalRequests;
  readonly #pairings: DevicePairings;
  readonly #perUser: RateLimit;

  constructor(context: SecondFactorContext, requests: ApprovalRequests, pairings: DevicePairings) {
    this.#context = context;
    this.#requests = requests;
    this.#pairings = pairings;
    this.#perUser = createRateLimit(context, {
      name: "verify_caller",
      count: () => context.settings.verificationsPerHour ?? DEFAULT_PER_HOUR,
      windowMs: HOUR_MS,
    });
  }

  async start(
    { pairingId, by, also }: Parameters<CallerVerifications["start"]>[0],
  ): ReturnType<CallerVerifications["start"]> {
    const pairing = this.#pairings.find(pairingId);
    if (pairing?.state !== "enabled") return { ok: false, reason: "no_phone" };
    const user = canonicalName(pairing.userName);
    if (this.#waitingOf(user).length > 0) return { ok: false, reason: "waiting" };
    // The limit is taken first. A request that then fails is a try that counts.
    if (!await this.#perUser.take(user)) {
      return { ok: false, reason: "too_many", waitMs: await this.#perUser.waitMs(user) };
    }
    const record = await this.#requests.openVerification(pairing, { by, also });
    if (record === null) return { ok: false, reason: "busy" };
    return { ok: true, verification: verificationView(record), number: record.number ?? "" };
  }

  find(id: string): CallerVerification | null {
    const record = this.#requests.find(id);
    return record !== undefined && isVerification(record) ? verificationView(record) : null;
  }

  verifiedOf(canonical: string): CallerVerification | null {
    const { tables, clock } = this.#context;
    // A phone that was revoked since may be a thief's.
    const views = tables.requests.list(byVerified(canonical))
      .filter(({ value }) => this.#pairings.find(value.pairingId)?.state === "enabled")
      .map(({ value }) => verificationView(value));
    return views.filter(({ shownUntilMs }) => shownUntilMs > clock.nowMs())
      .sort((a, b) => (b.endedMs ?? 0) - (a.endedMs ?? 0))[0] ?? null;
  }

  async cancel(id: string, by: string): Promise<boolean> {
    if (this.find(id) === null) return false;
    return await this.#requests.decide(id, "cancelled_by_administrator", { by }) === "won";
  }

  #waitingOf(canonical: string): ApprovalRecord[] {
    const { tables, clock } = this.#context;
    return tables.requests.list(VERIFYING).map(({ value }) => value).filter(({ userName, deadlineMs }) =>
      deadlineMs > clock.nowMs() && canonicalName(userName) === canonical
    );
  }
}
