// Opens the channel of a destination: its kind, its settings, and its secrets.

import type { Fetch } from "../fetch_with_deadline.ts";
import type { Clock } from "../runtime.ts";
import type { DestinationSecrets } from "./destination.ts";
import type { DestinationSettings, WebhookFormat } from "./destination_choices.ts";
import type { LogChannel } from "./log_channel.ts";
import { type ConnectTls, SyslogTlsChannel } from "./syslog_tls.ts";
import { type DatagramSender, SyslogUdpChannel } from "./syslog_udp.ts";
import { WebhookChannel } from "./webhook_channel.ts";
import type { WebhookSender } from "./webhook_sender.ts";

/** The sockets of the host. */
export interface ChannelHost {
  readonly clock: Clock;
  readonly connectTls: ConnectTls;
  readonly openUdp: (isIpv6: boolean) => DatagramSender;
  /** An HTTP client that also accepts other authorities (PEM). */
  readonly openHttp: (ca: string) => { readonly fetch: Fetch; readonly close: () => void };
}

/** @param options.id names the receiver of webhooks: {@link WebhookReceiver} */
export function openChannel(
  { clock, connectTls, openUdp, openHttp, sender }: ChannelHost & { readonly sender: WebhookSender },
  { id, settings, secrets }: {
    readonly id: string;
    readonly settings: DestinationSettings;
    readonly secrets: DestinationSecrets;
  },
): LogChannel {
  const format = settings.format === "structured_data" ? "structured_data" : "json";
  if (settings.kind === "syslog_udp") {
    return new SyslogUdpChannel({ open: openUdp, clock }, { ...settings, format });
  }
  if (settings.kind === "syslog_tls") {
    const { privateKey } = secrets;
    return new SyslogTlsChannel({ connect: connectTls, clock }, { ...settings, format, privateKey });
  }
  const { url, allowsHttp, ca } = settings;
  const { webhookSecret: secret, authorization } = secrets;
  const client = ca === "" ? undefined : openHttp(ca);
  return new WebhookChannel({ sender, client }, {
    receiver: { id, url, allowsHttp, secret, authorization },
    format: settings.format as WebhookFormat,
  });
}
