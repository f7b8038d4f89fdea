// The records of the second-factor service with exactly the documented members. What the embedded service does not
// keep (users, terminals, actions have no rows of their own) gets an identifier derived from its name.

import type { House } from "./house.ts";
import { uuidOfDigest } from "./identifiers.ts";
import { DECISIONS, type PairingRow, type RequestRow, TOTP_DIGITS } from "./rows.ts";

const AUTHENTICATOR_TYPE = "web";
const ACTION_NAME = "log in";

/** `YYYY-MM-DD HH:MM:SS`, UTC. */
export function formatTimestamp(atMs: number): string {
  return new Date(atMs).toISOString().slice(0, 19).replace("T", " ");
}

/** Writes records for one service; `consumerKey` is what the `consumer` members show. */
export interface RecordWriter {
  pairing(row: PairingRow): Record<string, unknown>;
  request(row: RequestRow, pairing: PairingRow): Record<string, unknown>;
}

export function createRecordWriter(
  { vault, settings }: Pick<House, "vault" | "settings">,
  { consumerKey }: { consumerKey: string },
): RecordWriter {
  const idOf = (kind: string, name: string): string =>
    uuidOfDigest(vault.digest(`embedded ${kind} identifier`, name));
  const consumer = { key: consumerKey };

  const requesterId = idOf("requester", settings.requesterName);
  const actionId = idOf("action", ACTION_NAME);
  const requester = (stamps: Stamps) => ({
    id: requesterId,
    name: settings.requesterName,
    ...stamps,
    consumer,
  });

  const write = (row: PairingRow) => {
    const stamps = stampsOf(row.createdMs);
    const user = {
      id: idOf("user", row.userName),
      name: row.userName,
      ...stamps,
      requester: requester(stamps),
    };
    const authenticator = {
      id: idOf("authenticator", row.phone),
      name: row.name ?? "",
      ...stamps,
      consumer,
    };
    return {
      id: row.id,
      authenticator_type: AUTHENTICATOR_TYPE,
      totp_length: TOTP_DIGITS,
      created: stamps.created,
      created_seconds_since_epoch: Math.floor(row.createdMs / 1000),
      modified: formatTimestamp(row.modifiedMs),
      deactivated: row.state === "ended" || row.state === "denied",
      enabled: row.state === "enabled",
      pending: row.state === "asks_approval",
      handleable: true,
      reason: "",
      reason_code: 0,
      minimum_version: 0,
      authenticator,
      user,
    };
  };

  // Rows never change, and each request's record has its pairing's in it.
  const written = new WeakMap<PairingRow, ReturnType<typeof write>>();
  const pairing = (row: PairingRow) => {
    const record = written.get(row) ?? write(row);
    written.set(row, record);
    return record;
  };

  return {
    pairing,
    request(row, of) {
      const stamps = stampsOf(row.createdMs);
      const ofPairing = pairing(of);
      const decision = row.decision === null ? null : DECISIONS[row.decision];
      return {
        id: row.id,
        created: stamps.created,
        modified: formatTimestamp(row.modifiedMs),
        created_seconds_since_epoch: Math.floor(row.createdMs / 1000),
        granted: decision?.granted ?? false,
        pending: decision === null,
        cancelled: decision?.cancelled ?? false,
        automated: false,
        automation_requested: false,
        automation_allowed: true,
        challenge_required: false,
        handleable: true,
        totp_valid: row.decision === "passcode",
        reason: decision?.reason ?? "",
        reason_code: decision?.reasonCode ?? 0,
        minimum_version: 0,
        terminal: {
          id: idOf("terminal", JSON.stringify([row.userName, row.terminalName])),
          name: row.terminalName,
          name_extra: "",
          ...stamps,
          user: ofPairing.user,
        },
        pairing: ofPairing,
        authenticator: ofPairing.authenticator,
        action: {
          id: actionId,
          name: ACTION_NAME,
          ...stamps,
          requester: requester(stamps),
        },
      };
    },
  };
}

interface Stamps {
  readonly created: string;
  readonly modified: string;
}

/** `modified` is `created`: these things do not change. */
function stampsOf(createdMs: number): Stamps {
  const created = formatTimestamp(createdMs);
  return { created, modified: created };
}
