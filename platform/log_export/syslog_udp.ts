// Syslog over UDP (RFC 5426): one message per datagram. Nothing shows whether it arrived, so what was sent counts as delivered.

import type { Clock } from "../runtime.ts";
import type { SyslogFormat } from "./destination_choices.ts";
import type { EcsRecord } from "./ecs_fields.ts";
import { ChannelFault, type LogChannel } from "./log_channel.ts";
import { encodeSyslog, MAX_DATAGRAM_OCTETS } from "./syslog_message.ts";

export interface SyslogUdpSettings {
  readonly host: string;
  readonly port: number;
  readonly format: SyslogFormat;
  readonly facility: number;
}

/** The part of `Deno.DatagramConn` that is used. */
export interface DatagramSender {
  send(octets: Uint8Array, to: Deno.NetAddr): Promise<number>;
  close(): void;
}

export interface SyslogUdpDeps {
  readonly open: (isIpv6: boolean) => DatagramSender;
  readonly clock: Pick<Clock, "after">;
}

/** A backlog is sent slowly, because a receiver drops what its buffer has no room for (RFC 5426 §4.3). */
const BURST_DATAGRAMS = 10;
const BURST_PAUSE_MS = 3;

export class SyslogUdpChannel implements LogChannel {
  readonly confirmAfterMs = 0;
  readonly #deps: SyslogUdpDeps;
  readonly #settings: SyslogUdpSettings;
  #sender: DatagramSender | null = null;

  constructor(deps: SyslogUdpDeps, settings: SyslogUdpSettings) {
    this.#deps = deps;
    this.#settings = settings;
  }

  async send(records: readonly EcsRecord[]): Promise<readonly string[]> {
    const { host: hostname, port, format, facility } = this.#settings;
    const { open, clock } = this.#deps;
    try {
      this.#sender ??= open(hostname.includes(":"));
      for (const [at, fields] of records.entries()) {
        if (at % BURST_DATAGRAMS === BURST_DATAGRAMS - 1) {
          await new Promise<void>((resolve) => void clock.after(BURST_PAUSE_MS, resolve));
        }
        const message = encodeSyslog(fields, { format, facility, maxOctets: MAX_DATAGRAM_OCTETS });
        await this.#sender.send(message, { transport: "udp", hostname, port });
      }
      return [];
    } catch (fault) {
      this.close();
      const isUnknown = fault instanceof Error && /lookup|name or service/i.test(fault.message);
      throw new ChannelFault(isUnknown ? "name_not_found" : "unreachable", "the datagram could not be sent");
    }
  }

  confirm(): Promise<void> {
    return Promise.resolve();
  }

  close(): void {
    this.#sender?.close();
    this.#sender = null;
  }
}
