// Where a session can be ended: only at an address that the client entry owns now.

import { nasAddressOf } from "../protocol/session_identification.ts";
import type { AccountingSession } from "../accounting/session.ts";
import type { Clients } from "../server/clients.ts";
import type { DisconnectCall } from "./disconnect_client.ts";
import type { DisconnectProblem } from "./disconnect_record.ts";

export type DisconnectTarget =
  | { readonly ok: true; readonly call: DisconnectCall }
  | { readonly ok: false; readonly problem: DisconnectProblem };

type KnownClients = Pick<Clients, "all" | "findByAddress">;

/**
 * The address that sent the accounting of the session comes first, because the shared secret proved it. NAS-IP-Address comes second, because
 * any holder of the secret can write it. Both must be addresses of the client entry, so that no session report sends a request, signed with
 * the secret of one client, to another host. Further attempts alternate, because a NAS can listen on another address than the one from which
 * it sends accounting, and a host in the range of the client could have repeated an old report.
 *
 * @param options.attempts attempts without success so far
 */
export function findDisconnectTarget(
  { client: name, source, identification }: AccountingSession,
  { clients, attempts = 0 }: { clients: KnownClients; attempts?: number | undefined },
): DisconnectTarget {
  const client = clients.all.find((one) => one.name === name);
  if (client === undefined) return { ok: false, problem: "no_client" };
  if (client.disconnect === null) return { ok: false, problem: "no_port" };
  const attributes = Uint8Array.fromHex(identification);
  const addresses = [...new Set([source, nasAddressOf(attributes)])];
  const usable = addresses.filter((address) => isOwned(clients, { name, address }));
  const owned = usable[attempts % usable.length];
  if (owned === undefined) return { ok: false, problem: "no_address" };
  return { ok: true, call: { client: name, hostname: owned, ...client.disconnect, attributes } };
}

function isOwned(clients: KnownClients, { name, address }: { name: string; address: string }): boolean {
  if (address === "") return false;
  return clients.findByAddress(address)?.some((one) => one.name === name && !one.anyAddress) ?? false;
}
