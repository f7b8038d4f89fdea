// Opens the log export of a gateway, with the sockets of the host.

import { openHttpClient } from "../fetch_with_deadline.ts";
import { hostName } from "../process.ts";
import { type DropCounterDeps, startDropCounter } from "./drop_counter.ts";
import { LogExport, type LogExportDeps } from "./log_export.ts";

export interface LogExportHost
  extends
    Omit<LogExportDeps, "observer" | "retentionMs" | "connectTls" | "openUdp" | "openHttp">,
    Pick<DropCounterDeps, "counters"> {
  readonly config: { readonly console: { readonly auditRetentionMs: number } };
  readonly version: string;
}

export interface OpenLogExport {
  readonly logExport: LogExport;
  close(): Promise<void>;
}

export async function openLogExport(host: LogExportHost): Promise<OpenLogExport> {
  const { config, version } = host;
  const logExport = new LogExport({
    ...host,
    observer: { hostName: hostName(), version },
    retentionMs: () => config.console.auditRetentionMs,
    connectTls: (options) => Deno.connectTls(options),
    openUdp: (isIpv6) =>
      Deno.listenDatagram({ transport: "udp", hostname: isIpv6 ? "::" : "0.0.0.0", port: 0 }),
    openHttp: (ca) => openHttpClient({ ca }),
  });
  await logExport.start();
  const stopCounting = startDropCounter({
    ...host,
    isWanted: () => logExport.destinations.wants("drops"),
  });
  return {
    logExport,
    async close() {
      stopCounting();
      await logExport.close();
    },
  };
}
