// The embedded second-factor service, put together: the documented HTTP interface for the gateway's client, a door for
// the phone page, and a desk for the console.

import type { Clock, Random } from "../../runtime.ts";
import { toBase64Url } from "../../runtime.ts";
import type { Store } from "../../store.ts";
import type { FindUserRecord } from "../../user_record.ts";
import type { Vault } from "../../vault.ts";
import type { EmbeddedLink, SecondFactorSettings } from "../second_factor.ts";
import { createHouse, type EmbeddedSecondFactorSettings, type Totp } from "./house.ts";
import type { PhoneService, SecondFactorDesk } from "./interfaces.ts";
import { createInvitations, type Invitations } from "./invitations.ts";
import { decideRequest, stateOf } from "./deciding.ts";
import { createPairings, type Pairings, refused } from "./pairings.ts";
import { createPhoneService, type PairingNews } from "./phone_service.ts";
import { createPhraseBook } from "./phrase_book.ts";
import { createRecordWriter } from "./record_json.ts";
import { createRequests, type Requests } from "./requests.ts";
import { TOTP_DIGITS } from "./rows.ts";
import { createSecondFactorInterface } from "./second_factor_interface.ts";

export interface EmbeddedSecondFactor {
  /** The documented HTTP interface. Never mount it on a public listener. Never rejects. */
  readonly handler: (request: Request) => Promise<Response>;
  /** `handler` as a `fetch`, for the HTTP caller of the client. */
  readonly fetch: typeof globalThis.fetch;
  /** What the client needs to speak to `fetch`. */
  readonly clientSettings: SecondFactorSettings;
  /** What the client needs beyond HTTP. */
  readonly link: EmbeddedLink;
  readonly phone: PhoneService;
  readonly desk: SecondFactorDesk;
  /** Reads what the store has; call it once, before anything else. */
  load(): Promise<void>;
  /** Stops the timer of requests that run out, and waits for its last writing. */
  close(): Promise<void>;
}

const IN_PROCESS_URL = "http://second-factor.embedded.invalid";
const CALL_TIMEOUT_MS = 5000;
const KEY_OCTETS = 16;
const SECRET_OCTETS = 32;

/**
 * @param deps.findUserRecord which record of the directory a user name belongs to.
 * @param deps.totp RFC 6238, see {@link Totp}.
 * @param deps.onBug told what went wrong inside an operation; the caller of the operation sees a 500.
 */
export function createEmbeddedSecondFactor(
  deps: {
    store: Store;
    vault: Vault;
    clock: Clock;
    random: Random;
    totp: Totp;
    settings: EmbeddedSecondFactorSettings;
    findUserRecord: FindUserRecord;
    onBug?: (fault: unknown) => void;
  },
): EmbeddedSecondFactor {
  const { onBug = () => undefined, ...rest } = deps;
  const house = createHouse(rest);
  const keys = {
    consumerKey: toBase64Url(deps.vault.deriveKey("embedded second factor consumer key", KEY_OCTETS)),
    consumerSecret: toBase64Url(
      deps.vault.deriveKey("embedded second factor consumer secret", SECRET_OCTETS),
    ),
  };
  const requests = createRequests(house);
  const pairings = createPairings(house, requests);
  const phrases = createPhraseBook(house, pairings);
  const invitations = createInvitations(house, pairings);
  const records = createRecordWriter(house, keys);
  const news = createNews();
  const handler = createSecondFactorInterface(house, { requests, pairings, phrases, records, onBug }, {
    keys,
  });

  return {
    handler,
    fetch: (input, init) => handler(new Request(input, init)),
    clientSettings: { url: IN_PROCESS_URL, ...keys, timeoutMs: CALL_TIMEOUT_MS },
    link: createLink(requests, onBug),
    phone: createPhoneService(house, { requests, pairings, phrases, invitations, news }),
    desk: createDesk({ requests, pairings, invitations, news, requesterName: house.settings.requesterName }),
    async load() {
      await house.shelves.load();
      requests.resume();
    },
    close: () => requests.stop(),
  };
}

function createLink(requests: Requests, onBug: (fault: unknown) => void): EmbeddedLink {
  return {
    async cancel(requestId) {
      try {
        await requests.decide(requestId, "cancelled_by_login");
      } catch (fault) {
        onBug(fault);
      }
    },
    onDecision: (requestId, notify) => requests.onDecision(requestId, notify),
    denialOf: (requestId) => requests.denialOf(requestId),
    denialOnExpiry(requestId) {
      const isPending = requests.find(requestId)?.decision === null;
      return isPending ? { cause: "expired" } : requests.denialOf(requestId);
    },
  };
}

interface NewsDesk extends PairingNews {
  onPaired: SecondFactorDesk["onPaired"];
  onUnpaired: SecondFactorDesk["onUnpaired"];
}

function createNews(): NewsDesk {
  const pairedListeners = new Set<Parameters<SecondFactorDesk["onPaired"]>[0]>();
  const unpairedListeners = new Set<Parameters<SecondFactorDesk["onUnpaired"]>[0]>();
  return {
    async paired({ id, userName, recordId = "", name, addedBy }, origin) {
      const named = name === undefined ? {} : { name };
      const added = addedBy === undefined ? {} : { addedBy };
      const pairing = {
        pairingId: id,
        userName,
        recordId,
        totpLength: TOTP_DIGITS,
        ...origin,
        ...named,
        ...added,
      };
      for (const notify of pairedListeners) if (!await notify(pairing)) return false;
      return true;
    },
    async unpaired({ id, userName }, origin) {
      for (const notify of unpairedListeners) await notify({ pairingId: id, userName }, origin);
    },
    onPaired(notify) {
      pairedListeners.add(notify);
      return () => pairedListeners.delete(notify);
    },
    onUnpaired(notify) {
      unpairedListeners.add(notify);
      return () => unpairedListeners.delete(notify);
    },
  };
}

function createDesk(
  { requests, pairings, invitations, news, requesterName }: {
    requesterName: string;
    requests: Requests;
    pairings: Pairings;
    invitations: Invitations;
    news: NewsDesk;
  },
): SecondFactorDesk {
  return {
    invite: (userName, options) => invitations.create(userName, options),
    pendingCount: () => requests.waitingCount(),
    pendingApprovals: (newest) =>
      requests.waiting(newest).map((row) => ({
        requestId: row.id,
        userName: row.userName,
        terminalName: row.terminalName,
        client: row.client,
        place: row.place,
        createdMs: row.createdMs,
        deadlineMs: row.deadlineMs,
      })),
    deny: async (requestId, options) =>
      await requests.decide(requestId, "denied_by_administrator", options) === "won",
    cancel: async (requestId, options) =>
      await requests.decide(requestId, "cancelled_by_administrator", options) === "won",
    request(requestId) {
      const row = requests.find(requestId);
      if (row === undefined) return null;
      const { pairingId, userName, terminalName, client, place, createdMs, deadlineMs } = row;
      return {
        requestId,
        pairingId,
        userName,
        requesterName,
        terminalName,
        client,
        place,
        createdMs,
        deadlineMs,
        asksNumber: row.number !== null,
        state: stateOf(row.decision),
      };
    },
    async decide(requestId, decision, options) {
      const row = requests.find(requestId);
      return row === undefined
        ? refused("unknown_request")
        : await decideRequest(requests, row, { ...options, decision });
    },
    usePasscode: (pairingId, code) => pairings.usePasscode(pairingId, code),
    revokePairing: async (pairingId) => await pairings.end(pairingId) !== null,
    onChange: (notify) => requests.onChange(notify),
    onPaired: news.onPaired,
    onUnpaired: news.onUnpaired,
  };
}
