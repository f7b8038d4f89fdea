// The embedded second-factor service: the gateway's port, the service of the phone page, and the administration that the
// console uses.

import type { SecondFactorService } from "../../radius/doing/ports.ts";
import type { Clock, Random } from "../../runtime.ts";
import type { Store } from "../../store.ts";
import type { FindUserRecord } from "../../user_record.ts";
import type { Vault } from "../../vault.ts";
import { createHouse, type EmbeddedSecondFactorSettings, type Totp } from "./house.ts";
import type { PhoneService, SecondFactorDesk } from "./interfaces.ts";
import { createInvitations, type Invitations } from "./invitations.ts";
import { decideRequest, stateOf } from "./deciding.ts";
import { createPairings, type Pairings, refused } from "./pairings.ts";
import { createPhoneService, type PairingNews } from "./phone_service.ts";
import { createPhraseBook } from "./phrase_book.ts";
import { createRequests, type Requests } from "./requests.ts";
import { TOTP_DIGITS } from "./rows.ts";
import { createEmbeddedService } from "./second_factor_service.ts";

export interface EmbeddedSecondFactor {
  /** The port of the gateway. */
  readonly service: SecondFactorService;
  readonly phone: PhoneService;
  readonly desk: SecondFactorDesk;
  /** Reads what the store has; call it once, before anything else. */
  load(): Promise<void>;
  /** Stops the timer of requests that run out, and waits for its last writing. */
  close(): Promise<void>;
}

/**
 * @param deps.findUserRecord which record of the directory a user name belongs to.
 * @param deps.totp RFC 6238, see {@link Totp}.
 * @param deps.onBug receives the error of an operation that failed; the caller of the operation receives a fault.
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
  const requests = createRequests(house);
  const pairings = createPairings(house, requests);
  const phrases = createPhraseBook(house, pairings);
  const invitations = createInvitations(house, pairings);
  const news = createNews();

  return {
    service: createEmbeddedService({ requests, pairings, phrases, onBug }),
    phone: createPhoneService(house, { requests, pairings, phrases, invitations, news }),
    desk: createDesk({ requests, pairings, invitations, news, requesterName: house.settings.requesterName }),
    async load() {
      await house.shelves.load();
      requests.resume();
    },
    close: () => requests.stop(),
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
