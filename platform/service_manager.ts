// What the gateway reports to the service manager: the protocol of sd_notify(3). Without NOTIFY_SOCKET it reports nothing.

import { escapeControlCharacters } from "./control_characters.ts";
import { faultMessage, type Log } from "./log.ts";
import type { CancelTimer, Clock, Random } from "./runtime.ts";

/** A datagram socket of the Unix domain. */
type UnixDatagrams = Pick<Deno.DatagramConn, "send">;

export interface ServiceManagerDeps {
  readonly env: (name: string) => string | undefined;
  readonly clock: Clock;
  readonly random: Random;
  readonly log: Log;
  /** Opens a socket at a path; one that begins with NUL is abstract. `Deno.listenDatagram` unless given. */
  readonly open?: (path: string) => UnixDatagrams;
  readonly pid?: number;
}

/** One line, without line ends: each line of a message is a variable of its own. */
const MAX_STATUS = 200;
/** A process that is not healthy is asked again after this part of the time of the watchdog. */
const RETRIES_IN_TIME = 20;
const TRANSPORT = "unixpacket" as const;

export class ServiceManager {
  readonly #deps: ServiceManagerDeps;
  readonly #to: Deno.UnixAddr | null;
  #socket: UnixDatagrams | null = null;
  #cancelWatch: CancelTimer = () => {};
  #hasWarned = false;
  #status = "";

  constructor(deps: ServiceManagerDeps) {
    this.#deps = deps;
    this.#to = this.#address();
  }

  /** The gateway serves: listeners are open, the store is loaded. Also the end of {@link reloading}. */
  ready(status: string): Promise<void> {
    this.#status = status;
    return this.#send(["READY=1", statusLine(status)]);
  }

  reloading(): Promise<void> {
    // No MONOTONIC_USEC, which Type=notify does not need: without --allow-all, Deno reads no clock of the host.
    return this.#send(["RELOADING=1", statusLine("Reading the settings and certificates again")]);
  }

  stopping(): Promise<void> {
    this.#cancelWatch();
    return this.#send(["STOPPING=1", statusLine("Finishing requests in progress")]);
  }

  /**
   * Reports twice in WATCHDOG_USEC that the process is healthy. Without these reports, the service manager ends it and starts it again.
   *
   * @param problem what is wrong, if another start may help; `null`: nothing.
   */
  watch(problem: () => string | null): void {
    const { env, clock, pid = Deno.pid } = this.#deps;
    const usec = Number(env("WATCHDOG_USEC") ?? "");
    const isOther = (env("WATCHDOG_PID") ?? "") !== "" && env("WATCHDOG_PID") !== String(pid);
    if (this.#to === null || !(usec > 0) || isOther) return;
    let shown: string | null = null;
    const beat = (): void => {
      const found = problem();
      if (found === null) {
        void this.#send(shown === null ? ["WATCHDOG=1"] : ["WATCHDOG=1", statusLine(this.#status)]);
      } else if (shown === null) void this.#send([statusLine(`Not healthy: ${found}`)]);
      shown = found;
      this.#cancelWatch = clock.after(usec / 1000 / (found === null ? 2 : RETRIES_IN_TIME), beat);
    };
    beat();
  }

  #address(): Deno.UnixAddr | null {
    const path = this.#deps.env("NOTIFY_SOCKET") ?? "";
    if (path === "") return null;
    if (path.startsWith("/")) return { transport: TRANSPORT, path };
    if (path.startsWith("@")) return { transport: TRANSPORT, path: `\0${path.slice(1)}` };
    this.#deps.log.warn(
      "the service manager is not told that the gateway serves: its address is of another kind",
      {
        address: path,
      },
    );
    return null;
  }

  /** Never rejects: the gateway serves also without a service manager. */
  async #send(lines: readonly string[]): Promise<void> {
    const { random, log, open = openDatagrams } = this.#deps;
    if (this.#to === null) return;
    try {
      // Deno binds each socket, so this one has a name that leaves no file.
      this.#socket ??= open(`\0countersign-${random.bytes(8).toHex()}`);
      await this.#socket.send(new TextEncoder().encode(`${lines.join("\n")}\n`), this.#to);
    } catch (fault) {
      if (!this.#hasWarned) {
        log.warn("the service manager cannot be told what the gateway does", { fault: faultMessage(fault) });
      }
      this.#hasWarned = true;
    }
  }
}

function statusLine(text: string): string {
  return `STATUS=${escapeControlCharacters(text).slice(0, MAX_STATUS)}`;
}

function openDatagrams(path: string): UnixDatagrams {
  return Deno.listenDatagram({ transport: TRANSPORT, path });
}
