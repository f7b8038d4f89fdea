// The UDP server: one loop a socket, one receive buffer; the gate, the duplicate cache and Status-Server stand here, the rest in the gateway.

import type { Log } from "../../platform/log.ts";
import type { Clock } from "../../platform/runtime.ts";
import { STORE_SILENT_MS } from "../../platform/store.ts";
import { PACKET_CODES } from "../protocol/codes.ts";
import { DROP_REASONS, type DropReason } from "../protocol/drop_reasons.ts";
import { findMessageAuthenticator } from "../protocol/authenticity.ts";
import { createSlab } from "../protocol/buffer_arena.ts";
import { decodeText } from "../protocol/utf8.ts";
import { stripUserName } from "../protocol/user_name.ts";
import type { AccountingHandler } from "../accounting/accounting_handler.ts";
import { createGate, type ListenerService } from "./packet_gate.ts";
import { type Client, type Clients, normalAddress } from "./clients.ts";
import type { Counters } from "./counters.ts";
import { createDuplicates } from "./duplicate_cache.ts";
import type { Ear } from "./client_discovery.ts";
import type { FoldedLog } from "./folded_log.ts";
import type { Learnt } from "./signing_clients.ts";
import type { Gateway } from "../conversation/request_handler.ts";
import type { GatewayEvent } from "../ports.ts";
import type { PacketLog } from "./packet_capture.ts";
import { writeAccountingResponse, writeReply } from "./reply_encoder.ts";
import type { Request } from "./request.ts";
import type { SourceRateLimit } from "./source_rate_limit.ts";

/** What of a datagram socket is used; Deno's, or a simulated one. */
export interface DatagramSocket {
  receive(buffer: Uint8Array): Promise<[Uint8Array, Deno.Addr]>;
  send(octets: Uint8Array, to: Deno.NetAddr): Promise<number>;
  close(): void;
}

export interface ServerDeps {
  readonly clients: Clients;
  readonly clock: Clock;
  readonly log: Log;
  readonly counters: Counters;
  readonly emit: (event: GatewayEvent) => void;
  readonly packets: PacketLog;
  readonly folded: FoldedLog;
  /** Limits packets that do not prove that their sender knows the secret, where any client address is accepted. */
  readonly unproven: SourceRateLimit;
  /** Hears who is not known, or uses another secret. */
  readonly ear?: Ear;
  /** When the store last answered: Status-Server vouches for it. */
  readonly storeAnsweredMs: () => number;
  /** Which source addresses must sign. */
  readonly learnt: Pick<Learnt, "requires" | "learn" | "noteUnsignedAccept">;
  /** Wires the gateway; called once, with what it needs of the sockets. */
  readonly createGateway: (send: Gatewayed["send"], release: Gatewayed["release"]) => Gateway;
  /** Creates the accounting handler; called once, like {@link createGateway}. */
  readonly createAccounting: (send: Gatewayed["send"], release: Gatewayed["release"]) => AccountingHandler;
}

interface Gatewayed {
  send: (request: Request, reply: Uint8Array) => void;
  release: (request: Request) => void;
}

export interface RadiusServer {
  /** Serves a socket until it is closed; never rejects. `service`: the authentication port answers accounting, too. */
  serve(socket: DatagramSocket, service?: ListenerService): Promise<void>;
  /** Takes no more requests, finishes what is under way for at most `deadlineMs`, and closes the sockets. */
  stop(deadlineMs: number): Promise<void>;
  readonly gateway: Gateway;
  /** Requests under way, accounting included. */
  readonly working: number;
}

/** A drop of one reason from one source is written at most once in this time. */
const DROP_LOG_MS = 60_000;
const MOST_DROP_LOGS = 2000;
const ACCESS_REQUEST = PACKET_CODES["Access-Request"].code;
const ACCESS_ACCEPT = PACKET_CODES["Access-Accept"].code;
const ACCOUNTING_REQUEST = PACKET_CODES["Accounting-Request"].code;
/** Accounting has a duplicate cache of its own, so that a flood of it never removes the answers of logins. */
const ACCOUNTING_DUPLICATES = { slots: 16_384, octets: 8 * 1024 * 1024 };
const RECEIVE_OCTETS = 65_535;

export function createRadiusServer(deps: ServerDeps): RadiusServer {
  const { log, counters, clock } = deps;
  const { learnt } = deps;
  const gate = createGate(deps.clients, { nowMs: clock.nowMs, requires: learnt.requires });
  const duplicates = createDuplicates();
  const accountingDuplicates = createDuplicates(ACCOUNTING_DUPLICATES);
  const sockets: DatagramSocket[] = [];
  const saidDrops = new Map<string, number>();
  const slab = createSlab();
  let stopping = false;

  const sendTo = (socket: number, to: { hostname: string; port: number }, octets: Uint8Array): void => {
    const address: Deno.NetAddr = { transport: "udp", hostname: to.hostname, port: to.port };
    // A send fails when the route or a permission is missing; that concerns one client, never the server.
    sockets[socket]?.send(octets, address).catch((fault: unknown) => {
      counters.count("send_failures");
      sayDrop(
        "send failed",
        to.hostname,
        () => log.warn("a reply could not be sent", { to: to.hostname, fault: String(fault) }),
      );
    });
  };

  const gateway = deps.createGateway(
    (request, reply) => {
      noteAccept(request, reply);
      sendTo(request.sender.socket, request.sender, reply);
    },
    (request) => duplicates.forget(request.slot),
  );
  const accounting = deps.createAccounting(
    (request, reply) => sendTo(request.sender.socket, request.sender, reply),
    (request) => accountingDuplicates.forget(request.slot),
  );

  function sayDrop(reason: string, source: string, say: () => void): void {
    const now = clock.nowMs();
    const key = `${reason} ${source}`;
    const said = saidDrops.get(key);
    if (said !== undefined && now - said < DROP_LOG_MS) return;
    if (saidDrops.size >= MOST_DROP_LOGS) saidDrops.clear();
    saidDrops.set(key, now);
    say();
  }

  function drop(reason: DropReason, source: string, octets: Uint8Array | null = null): void {
    counters.drop(reason);
    if (octets !== null) {
      deps.ear?.hear({ octets, source, reason, client: gate.client?.name ?? null });
      deps.packets.dropped({ octets, reason, source, client: gate.client?.name ?? null });
    }
    const row = DROP_REASONS[reason];
    if (row.level === "debug" && !log.enabled("debug")) return;
    sayDrop(reason, source, () => {
      const client = gate.client?.name ?? null;
      const fields = { reason, client: client ?? undefined, source };
      deps.folded.write(`drop ${reason}`, { level: row.level, message: `dropped: ${row.sentence}`, fields });
      deps.emit({ kind: "drop", atMs: clock.nowMs(), reason, source, client });
    });
  }

  function receive(
    { socket, service }: { socket: number; service: ListenerService },
    octets: Uint8Array,
    from: Deno.NetAddr,
  ): void {
    const startedAt = performance.now();
    const source = normalAddress(from.hostname);
    const reason = gate.check(octets, source, from.port, service);
    const { client, view } = gate;
    if (reason !== null || client === null) return drop(reason ?? "unknown_client", source, octets);
    client.use.packets++;
    client.use.lastMs = clock.nowMs();
    if (client.isPrevious) client.use.previousMs = client.use.lastMs;
    if (client.anyAddress) deps.ear?.hear({ octets, source, reason: "any_address", client: null });
    if (view.code === ACCESS_REQUEST) noteSignature(client, source);
    const isAccounting = view.code === ACCOUNTING_REQUEST;
    // The gate verified the Request Authenticator of an Accounting-Request.
    const { userPassword } = view.slots;
    const hasPassword = userPassword.count > 0 && userPassword.lengthOctets > 0;
    const proven = gate.signed || isAccounting || hasPassword;
    // The source address may be invented, and its owner gets the reply, also to copies of the packet.
    if (client.anyAddress && !proven && !deps.unproven.take(source)) {
      return drop("rate_limited", source, octets);
    }
    const packet = { socket, hostname: from.hostname, port: from.port, octets };
    const cache = isAccounting ? accountingDuplicates : duplicates;
    const known = cache.find(packet);
    if (known !== null) {
      counters.count("duplicates");
      if (known.recorded !== null) known.recorded.copies++;
      if (known.reply === null) return drop("duplicate_in_progress", source);
      return sendTo(socket, from, known.reply);
    }
    if (stopping) return;
    const kept = slab.copy(octets, view.lengthOctets);
    const nowMs = clock.nowMs();
    const userName = view.value("userName");
    const request: Request = {
      octets: kept,
      client,
      sender: { socket, hostname: from.hostname, port: from.port },
      source,
      receivedMs: nowMs,
      startedAt,
      slot: cache.note({ ...packet, octets: kept }, nowMs),
      userName: userName === null ? "" : stripUserName(decodeText(userName), client.policy),
      signed: gate.signed,
      proven,
    };
    if (view.code === ACCESS_REQUEST) gateway.accept(request, view);
    else if (isAccounting) account(request);
    else answerStatus(request, service);
  }

  /** Status-Server and EAP are always signed, so they say nothing about the logins of an address. */
  function noteSignature(client: Client, source: string): void {
    if (!gate.signed) client.use.unsignedMs = clock.nowMs();
    else if (
      client.learns && gate.view.slots.eapMessage.count === 0 && !learnt.requires({ client, source })
    ) {
      learnt.learn({ client, source });
    }
  }

  function noteAccept({ client, source, octets }: Request, reply: Uint8Array): void {
    if (reply[0] !== ACCESS_ACCEPT || !client.learns || findMessageAuthenticator(octets) !== null) return;
    learnt.noteUnsignedAccept({ client, source });
  }

  function account(request: Request): void {
    const reason = accounting.accept(request);
    if (reason === null) return;
    accountingDuplicates.forget(request.slot);
    drop(reason, request.source, request.octets);
  }

  /** RFC 5997 §4.2: the answer has the code that the port answers with. */
  function answerStatus(request: Request, service: ListenerService): void {
    if (clock.nowMs() - deps.storeAnsweredMs() > STORE_SILENT_MS) {
      duplicates.forget(request.slot);
      return drop("store_not_answering", request.source, request.octets);
    }
    const reply = service === "accounting"
      ? writeAccountingResponse(request)
      : writeReply(request, { name: "Access-Accept", message: "" });
    request.slot.reply = reply;
    counters.count("status_answers");
    sendTo(request.sender.socket, request.sender, reply);
  }

  return {
    gateway,
    get working() {
      return gateway.working + accounting.working;
    },
    async serve(socket, service = "authentication") {
      const index = sockets.push(socket) - 1;
      const buffer = new Uint8Array(RECEIVE_OCTETS);
      while (!stopping) {
        try {
          const [octets, from] = await socket.receive(buffer);
          if (from.transport === "udp") receive({ socket: index, service }, octets, from);
        } catch (fault) {
          if (
            stopping || fault instanceof Deno.errors.BadResource || fault instanceof Deno.errors.Interrupted
          ) return;
          // Whatever one datagram did, the next one must be served.
          log.error("a datagram could not be worked on", { fault: String(fault) });
          await new Promise<void>((resolve) => void clock.after(1, resolve));
        }
      }
    },
    async stop(deadlineMs) {
      stopping = true;
      const end = clock.nowMs() + deadlineMs;
      await gateway.drain(deadlineMs);
      while (accounting.working > 0 && clock.nowMs() < end) {
        await new Promise<void>((resolve) => void clock.after(20, resolve));
      }
      for (const socket of sockets) socket.close();
    },
  };
}
