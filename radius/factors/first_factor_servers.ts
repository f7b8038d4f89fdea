// The first factor at other RADIUS servers: which server of a list is asked, how long, and what the servers' state is. Logins with a password
// and relayed requests use the same servers.

import { type SocketAddress, socketAddressText } from "../../platform/addresses.ts";
import type { FirstFactorServer } from "../../platform/client_settings.ts";
import type { CancelTimer, Clock } from "../../platform/runtime.ts";
import type {
  FirstFactorReply,
  FirstFactorServerStatus,
  FirstFactorVerdict,
  FirstFactorVerifier,
  PasswordAttempt,
} from "../ports.ts";
import type { ClearAttribute } from "../protocol/clear_attributes.ts";
import { MAX_PASSWORD_OCTETS, MAX_VALUE_OCTETS } from "../protocol/packet.ts";
import { passwordRequestAttributes } from "../protocol/relayed_attributes.ts";
import { AuthServer, type AuthServerDeps, type SentRequest } from "./radius_auth_client.ts";
import type { Log, LogFields } from "../../platform/log.ts";

interface FirstFactorServersDeps extends AuthServerDeps {
  /** The servers of a client, or `null` if its first factor is not RADIUS. */
  readonly serversOf: (client: string) => FirstFactorServer | null;
  readonly all: () => readonly { readonly client: string; readonly servers: FirstFactorServer }[];
  readonly health: FirstFactorHealth;
}

interface ServerExchange {
  /** The client's name. */
  readonly client: string;
  /** Of the request. Message-Authenticator is added, and Proxy-State left out. */
  readonly attributes: readonly ClearAttribute[];
  /** The server where the login began, as an answer named it. Absent: the servers of the client, in order of preference. */
  readonly server?: string | undefined;
  /** The answer may wait for a person. Absent: each server has its share of `timeout_ms`. */
  readonly wait?: PatientWait | undefined;
}

/** How often a request is sent to a server before the next one is asked. */
const COPIES = 3;
/** A server has 4096 Identifiers. One client leaves some for the others. */
const MAX_IN_PROGRESS_PER_CLIENT = 3072;
const WATCH_MS = 2000;
/** Clients can have the same server with other servers or another secret. The worst state is shown. */
const SEVERITY: readonly FirstFactorServerStatus["state"][] = ["answers", "unknown", "down", "all_down"];

export class FirstFactorServers implements FirstFactorVerifier {
  readonly #deps: FirstFactorServersDeps;
  /** Clients that share a server and its secret share its sockets and its state. */
  readonly #servers = new Map<string, AuthServer>();
  readonly #inProgress = new Map<string, number>();
  #stopWatching: CancelTimer = () => {};

  constructor(deps: FirstFactorServersDeps) {
    this.#deps = deps;
    this.#watch();
  }

  /**
   * Asks the servers of a client, and resolves with the first signed answer. A server that is down is asked only if all are. A server that
   * does not answer within its share of the time is followed by the next one; a later answer counts, too. Never rejects.
   */
  async exchange({ client, attributes, server, wait }: ServerExchange): Promise<ServerOutcome> {
    const settings = this.#deps.serversOf(client);
    const asked = settings === null ? [] : this.#candidates(settings, server);
    if (settings === null || asked.length === 0) return { kind: "unavailable" };
    const inProgress = this.#inProgress.get(client) ?? 0;
    if (inProgress >= MAX_IN_PROGRESS_PER_CLIENT) return { kind: "busy" };
    this.#inProgress.set(client, inProgress + 1);
    try {
      const timeoutMs = wait?.waitMs ?? settings.timeoutMs;
      const outcome = wait === undefined
        ? await this.#ask(asked, { attributes, timeoutMs })
        : await new PatientExchange({ servers: asked, attributes, wait, clock: this.#deps.clock }).run();
      if (server === undefined || outcome.kind === "answer") {
        this.#noteOutcome(
          settings,
          outcome,
          `no answer within ${timeoutMs} ms${asked.at(-1)?.lastFault ?? ""}`,
        );
      }
      return outcome;
    } catch (fault) {
      if (fault instanceof RangeError) return { kind: "unavailable" };
      throw fault;
    } finally {
      const left = (this.#inProgress.get(client) ?? 1) - 1;
      if (left === 0) this.#inProgress.delete(client);
      else this.#inProgress.set(client, left);
    }
  }

  /** Asks for a password. The answer to a challenge goes to the server that sent it. */
  async verify(attempt: PasswordAttempt): Promise<FirstFactorVerdict | FirstFactorReply> {
    const { client, userName, password, challenge } = attempt;
    // Text that was not UTF-8 is longer now. No server knows a name or a password that is too long for its attribute.
    const isTooLong = new TextEncoder().encode(userName).length > MAX_VALUE_OCTETS ||
      password.length > MAX_PASSWORD_OCTETS;
    if (isTooLong) return "unchecked";
    const attributes = passwordRequestAttributes(attempt);
    const outcome = await this.exchange({ client, attributes, server: challenge?.server });
    return outcome.kind === "answer" ? outcome : outcome.kind;
  }

  /** Tests servers with a login of a name that no user has. Resolves to those that do not answer, or do not have this secret. */
  async probe(settings: FirstFactorServer): Promise<readonly string[]> {
    const { timeoutMs } = settings;
    const silent = await Promise.all(settings.address.map(async (address) => {
      const server = new AuthServer({ ...settings, address }, this.#deps);
      try {
        return await server.ask("Access-Request", { waitMs: timeoutMs, copies: COPIES }) ? [] : [server.name];
      } finally {
        server.close();
      }
    }));
    return silent.flat();
  }

  /** The state of each server, in the order of the clients and their lists. */
  status(): readonly FirstFactorServerStatus[] {
    const states = new Map<string, FirstFactorServerStatus>();
    for (const { client, servers: settings } of this.#deps.all()) {
      const servers = this.#serversOf(settings);
      const areAllDown = servers.every(({ isDown }) => isDown);
      for (const { name, isDown, lastAnswerMs, lastFault } of servers) {
        const state = areAllDown
          ? "all_down"
          : isDown
          ? "down"
          : lastAnswerMs === null
          ? "unknown"
          : "answers";
        const known = states.get(name);
        if (known !== undefined && SEVERITY.indexOf(known.state) >= SEVERITY.indexOf(state)) continue;
        states.set(name, { server: name, client, state, lastAnswerMs, fault: lastFault.replace(/^: /, "") });
      }
    }
    return [...states.values()];
  }

  /** Asks a server of the settings whether it answers, and notes it. @param name `host:port` */
  async test(name: string): Promise<void> {
    const named = [...this.#servers.values()].filter((server) => server.name === name);
    await Promise.all(named.map((server) => server.probe()));
  }

  close(): void {
    this.#stopWatching();
    for (const server of this.#servers.values()) server.close();
    this.#servers.clear();
  }

  #candidates(settings: FirstFactorServer, pinned: string | undefined): readonly AuthServer[] {
    const servers = this.#serversOf(settings);
    if (pinned !== undefined) return servers.filter(({ name }) => name === pinned);
    const usable = servers.filter(({ isUsable }) => isUsable);
    return usable.length === 0 ? servers : usable;
  }

  #ask(
    servers: readonly AuthServer[],
    { attributes, timeoutMs }: { attributes: readonly ClearAttribute[]; timeoutMs: number },
  ): Promise<ServerOutcome> {
    const { clock } = this.#deps;
    const untilMs = clock.nowMs() + timeoutMs;
    const sent: SentRequest[] = [];
    const { promise, resolve, reject } = Promise.withResolvers<ServerOutcome>();
    const settle = (outcome: ServerOutcome): void => {
      for (const request of sent) request.release();
      resolve(outcome);
    };
    const askNext = (at: number): void => {
      const server = servers[at];
      if (server === undefined) return settle({ kind: sent.length === 0 ? "busy" : "unavailable" });
      const request = server.send({
        ...{ code: "Access-Request", attributes, copies: COPIES },
        waitMs: Math.max(COPIES, (untilMs - clock.nowMs()) / (servers.length - at)),
        answered: (answer) =>
          settle(
            answer === null ? { kind: "unavailable" } : { kind: "answer", ...answer, server: server.name },
          ),
        silent: () => {
          // Whether it is down must be known soon.
          if (!server.isUsable) void server.probe();
          askNext(at + 1);
        },
      });
      if (request === null) return askNext(at + 1);
      sent.push(request);
    };
    try {
      askNext(0);
    } catch (fault) {
      reject(fault);
    }
    return promise;
  }

  #noteOutcome(settings: FirstFactorServer, outcome: ServerOutcome, fault: string): void {
    const { health } = this.#deps;
    if (outcome.kind === "busy") return;
    if (outcome.kind === "answer") return health.works(healthKeyOf(settings));
    health.failed(healthKeyOf(settings), logFieldsOf(settings), fault);
  }

  #serversOf(settings: FirstFactorServer): readonly AuthServer[] {
    return settings.address.map((address) => {
      const key = serverKeyOf(settings, address);
      const known = this.#servers.get(key);
      if (known !== undefined) return known;
      const server = new AuthServer({ ...settings, address }, this.#deps);
      this.#servers.set(key, server);
      return server;
    });
  }

  /** Probes servers, and closes those that the settings do not have any more. */
  #watch(): void {
    const wanted = new Set<string>();
    for (const { servers: settings } of this.#deps.all()) {
      for (const address of settings.address) wanted.add(serverKeyOf(settings, address));
      const servers = this.#serversOf(settings);
      for (const server of servers) server.probeIfDue({ isOfList: servers.length > 1 });
    }
    for (const [key, server] of this.#servers) {
      if (wanted.has(key)) continue;
      this.#servers.delete(key);
      server.close();
    }
    this.#stopWatching = this.#deps.clock.after(WATCH_MS, () => this.#watch());
  }
}

function serverKeyOf({ messageAuthenticator, secret }: FirstFactorServer, address: SocketAddress): string {
  return `${socketAddressText(address)} ${messageAuthenticator} ${secret}`;
}

function healthKeyOf(settings: FirstFactorServer): string {
  return `radius ${settings.address.map(socketAddressText).join(" ")} ${settings.secret}`;
}

function logFieldsOf(settings: FirstFactorServer) {
  return { first_factor: "radius", server: settings.address.map(socketAddressText).join(", ") };
}

// A request to first-factor servers whose answer may wait for a person. Time alone does not show that such a server is dead: a probe does. Only then
// the next server is asked.

/** `unavailable`: no server answered in time. `busy`: too many requests are in progress; the client tries again. */
type ServerOutcome =
  | FirstFactorReply & { readonly kind: "answer" }
  | { readonly kind: "unavailable" | "busy" };

/** How long a request waits for a person. */
interface PatientWait {
  /** The longest wait, all servers together. */
  readonly waitMs: number;
  /** Called once the request was sent, with a function that sends it again: the client did. */
  readonly onSent: (repeat: () => void) => void;
}

interface PatientExchangeDeps {
  /** At least one, in the order in which they are asked. */
  readonly servers: readonly AuthServer[];
  readonly attributes: readonly ClearAttribute[];
  readonly wait: PatientWait;
  readonly clock: Clock;
}

/** When a server is looked at: first soon, because the client may not wait long. */
const LOOKS_MS = [1500, 3500, 5000] as const;
const LATER_LOOKS_MS = 15_000;
/** A packet may be lost. Later on, only the client repeats it: after an outage, logins that have no client any more would ask users. */
const REPEATING_LOOKS: ReadonlySet<number> = new Set([1, 2]);
/** Copies of the client that come faster are not passed on. */
const MIN_REPEAT_MS = 500;

class PatientExchange {
  readonly #deps: PatientExchangeDeps;
  readonly #untilMs: number;
  readonly #asked: { readonly server: AuthServer; readonly request: SentRequest }[] = [];
  readonly #outcome = Promise.withResolvers<ServerOutcome>();
  #cancelLook: CancelTimer = () => {};
  #sentMs = 0;
  #isOver = false;

  constructor(deps: PatientExchangeDeps) {
    this.#deps = deps;
    this.#untilMs = deps.clock.nowMs() + deps.wait.waitMs;
  }

  /** Call it once. @throws RangeError if the attributes do not fit into a packet */
  async run(): Promise<ServerOutcome> {
    this.#ask(0);
    this.#deps.wait.onSent(() => this.#repeat());
    return await this.#outcome.promise;
  }

  #settle(outcome: ServerOutcome): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#cancelLook();
    for (const { request } of this.#asked) request.release();
    this.#outcome.resolve(outcome);
  }

  #ask(at: number): void {
    const { servers, attributes, clock } = this.#deps;
    const server = servers[at];
    if (server === undefined) {
      if (this.#asked.length === 0) this.#settle({ kind: "busy" });
      return;
    }
    this.#sentMs = clock.nowMs();
    const request = server.send({
      ...{ code: "Access-Request", attributes, copies: 1 },
      waitMs: Math.max(1, this.#untilMs - this.#sentMs),
      answered: (answer) =>
        this.#settle(
          answer === null ? { kind: "unavailable" } : { kind: "answer", ...answer, server: server.name },
        ),
      silent: () => this.#settle({ kind: "unavailable" }),
    });
    if (request === null) return this.#ask(at + 1);
    this.#asked.push({ server, request });
    this.#lookLater(at, 0);
  }

  #lookLater(at: number, look: number): void {
    const { clock } = this.#deps;
    const sinceMs = clock.nowMs();
    this.#cancelLook = clock.after(
      LOOKS_MS[look] ?? LATER_LOOKS_MS,
      () => this.#look(at, { look, sinceMs }).catch((fault: unknown) => this.#outcome.reject(fault)),
    );
  }

  /** The answer of a server that was given up counts, too, if it comes. */
  async #look(at: number, { look, sinceMs }: { look: number; sinceMs: number }): Promise<void> {
    const { servers } = this.#deps;
    const server = servers[at];
    if (REPEATING_LOOKS.has(look)) this.#repeat();
    const isLastLook = look + 1 >= LOOKS_MS.length;
    if (server === undefined || (servers.length === 1 && isLastLook)) return;
    const isDead = servers.length > 1 && !await server.answersSince(sinceMs);
    if (this.#isOver) return;
    if (isDead && at + 1 < servers.length) this.#ask(at + 1);
    else if (!isDead || !isLastLook) this.#lookLater(at, look + 1);
  }

  /** Sends again to the server that was asked last, or to all if it is dead. */
  #repeat(): void {
    const last = this.#asked.at(-1);
    const nowMs = this.#deps.clock.nowMs();
    if (this.#isOver || last === undefined || nowMs - this.#sentMs < MIN_REPEAT_MS) return;
    this.#sentMs = nowMs;
    for (const { request } of last.server.isUsable ? [last] : this.#asked) request.repeat();
  }
}

// Whether the servers that check passwords work: one log line when one fails, with the reason, and one when it works again. Not one per login.

export class FirstFactorHealth {
  readonly #log: Log;
  readonly #clock: Clock;
  readonly #failing = new Map<
    string,
    { readonly fields: LogFields; readonly sinceMs: number; checks: number }
  >();

  constructor({ log, clock }: { log: Log; clock: Clock }) {
    this.#log = log;
    this.#clock = clock;
  }

  /** @param server unique among the servers @param fields names the server in the log */
  failed(server: string, fields: LogFields, fault: string): void {
    const known = this.#failing.get(server);
    if (known !== undefined) return void known.checks++;
    this.#failing.set(server, { fields, sinceMs: this.#clock.nowMs(), checks: 1 });
    this.#log.error("the first factor cannot be checked", { ...fields, fault });
  }

  works(server: string): void {
    const known = this.#failing.size === 0 ? undefined : this.#failing.get(server);
    if (known === undefined) return;
    this.#failing.delete(server);
    const seconds = Math.round((this.#clock.nowMs() - known.sinceMs) / 1000);
    this.#log.info("the first factor can be checked again", {
      ...known.fields,
      seconds,
      failedChecks: known.checks,
    });
  }
}
