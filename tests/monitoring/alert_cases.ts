// When each alert rule of packaging/prometheus fires, and when it does not: series in the notation of promtool's unit tests.

/** Values per minute by series: `1x10` is ten times the same, `0+5x10` grows by 5. */
type Series = Readonly<Record<string, string>>;

interface AlertCase {
  readonly fires: Series;
  readonly quiet: Series;
  /** When the alert is read, after the first value. Default: 20 minutes. */
  readonly atMinutes?: number;
}

const NODE = 'instance="gate-1:8080",job="countersign"';
const OTHER = 'instance="gate-2:8080",job="countersign"';
const WEEK_MINUTES = 7 * 24 * 60;

/** A metric of one node. @param labels such as `reason="too_busy"` */
const of = (name: string, labels = "") => `countersign_${name}{${labels === "" ? "" : `${labels},`}${NODE}}`;
const rejected = (reason: string) => of("logins_total", `result="rejected",reason="${reason}"`);
const status = (kind: string) => of("status_parts", `kind="${kind}",state="bad"`);

/** One gauge that is bad with one value, and good with another one. */
const gauge = (name: string, bad: number | string, good: number | string): AlertCase => ({
  fires: { [name]: `${bad}x60` },
  quiet: { [name]: `${good}x60` },
});
const above = (name: string, bound: string, [bad, good]: readonly [number, number]): AlertCase => ({
  fires: { [of(name)]: `${bad}x60`, [of(bound)]: "10x60" },
  quiet: { [of(name)]: `${good}x60`, [of(bound)]: "10x60" },
});
/** One counter that grows by so much in a minute. */
const growth = (name: string, bad: number, good: number): AlertCase => ({
  fires: { [name]: `0+${bad}x60` },
  quiet: { [name]: `0+${good}x60` },
});

/** By the name of the alert. */
export const ALERT_CASES: Readonly<Record<string, AlertCase>> = {
  CountersignDown: {
    fires: { [`up{${NODE}}`]: "0x60", [`up{${OTHER}}`]: "1x60" },
    quiet: { [`up{${NODE}}`]: "1x60", 'up{instance="other:1",job="other"}': "0x60" },
  },
  CountersignAllDown: {
    fires: { [`up{${NODE}}`]: "0x60", [`up{${OTHER}}`]: "0x60" },
    quiet: { [`up{${NODE}}`]: "0x60", [`up{${OTHER}}`]: "1x60" },
  },
  CountersignNotReady: gauge(of("ready"), 0, 1),
  CountersignRestarts: {
    fires: { [of("start_time_seconds")]: "100 200 300 400x60" },
    quiet: { [of("start_time_seconds")]: "100 200 200x60" },
    atMinutes: 5,
  },
  CountersignNodeSilent: gauge(of("nodes_silent"), 1, 0),
  CountersignVersionsDiffer: {
    fires: {
      [of("build_info", 'version="0.2.0"')]: "1x90",
      [`countersign_build_info{version="0.1.0",${OTHER}}`]: "1x90",
    },
    quiet: {
      [of("build_info", 'version="0.2.0"')]: "1x90",
      [`countersign_build_info{version="0.2.0",${OTHER}}`]: "1x90",
    },
    atMinutes: 80,
  },
  CountersignStoreFailing: growth(of("store_commit_failures_total"), 1, 0),
  CountersignStoreSlow: {
    fires: { [of("store_commit_seconds_sum")]: "0+30x60", [of("store_commit_seconds_count")]: "0+60x60" },
    quiet: { [of("store_commit_seconds_sum")]: "0+1x60", [of("store_commit_seconds_count")]: "0+60x60" },
  },
  // The first day has ten in ten minutes, or fifty.
  CountersignRejectionSpike: {
    fires: { [rejected("password_wrong")]: "0+1x1490 1500+20x20" },
    quiet: { [rejected("password_wrong")]: "0+5x1520" },
    atMinutes: 1505,
  },
  CountersignNoRequests: {
    fires: { [of("requests_total")]: `0+1x${WEEK_MINUTES - 60} ${WEEK_MINUTES}x120` },
    quiet: { [of("requests_total")]: `0+1x${WEEK_MINUTES + 60}` },
    atMinutes: WEEK_MINUTES + 50,
  },
  CountersignUsersDoNotAnswer: {
    fires: {
      [rejected("phone_silent")]: "0+1x60",
      [of("logins_total", 'result="expired"')]: "0+1x60",
      [of("logins_total", 'result="accepted"')]: "0+1x60",
    },
    quiet: {
      [rejected("phone_silent")]: "0+1x60",
      [of("logins_total", 'result="expired"')]: "0x60",
      [of("logins_total", 'result="accepted"')]: "0+2x60",
    },
  },
  CountersignFailuresHigh: above("failures_last_hour", "failures_warning_per_hour", [11, 10]),
  CountersignLocksHigh: above("locks_last_hour", "locks_warning_per_hour", [11, 10]),
  CountersignSendLimit: above("sends_last_hour", "sends_limit_per_hour", [10, 9]),
  CountersignOverloaded: {
    fires: { [of("dropped_total", 'reason="too_busy"')]: "0+1x60" },
    quiet: {
      [of("dropped_total", 'reason="too_busy"')]: "3x60",
      [of("dropped_total", 'reason="unknown_client"')]: "0+9x60",
    },
  },
  CountersignWrongSecret: growth(of("dropped_total", 'reason="wrong_message_authenticator"'), 3, 1),
  CountersignUnknownClient: growth(of("dropped_total", 'reason="unknown_client"'), 3, 1),
  CountersignReceiveBufferFull: growth(
    `node_netstat_Udp_RcvbufErrors{instance="gate-1:9100",job="node"}`,
    1,
    0,
  ),
  CountersignShadowUnanswered: growth(of("shadow_unanswered_total"), 1, 0),
  CountersignNoFirstFactorServer: gauge(of("first_factor_servers_all_down"), 1, 0),
  CountersignFirstFactorServerDown: {
    fires: { [of("first_factor_servers_down")]: "1x60", [of("first_factor_servers_all_down")]: "0x60" },
    quiet: { [of("first_factor_servers_down")]: "2x60", [of("first_factor_servers_all_down")]: "2x60" },
  },
  CountersignNoDirectoryServer: gauge(of("directory_servers_all_down"), 1, 0),
  CountersignDirectoryServerDown: {
    fires: { [of("directory_servers_down")]: "1x60", [of("directory_servers_all_down")]: "0x60" },
    quiet: { [of("directory_servers_down")]: "2x60", [of("directory_servers_all_down")]: "2x60" },
  },
  CountersignServiceFailing: {
    fires: { [status("telephony")]: "1x60" },
    quiet: {
      [status("telephony")]: "0x60",
      [status("certificate")]: "1x60",
      [of("status_parts", 'kind="mail",state="warning"')]: "1x60",
    },
  },
  CountersignConnectorFailing: gauge(status("backend"), 1, 0),
  CountersignChangesUndelivered: gauge(status("outbox"), 1, 0),
  CountersignPushFailing: {
    fires: { [of("push_messages_failed_total")]: "0+1x60", [of("push_messages_accepted_total")]: "0x60" },
    quiet: { [of("push_messages_failed_total")]: "0+1x60", [of("push_messages_accepted_total")]: "0+2x60" },
  },
  CountersignMailWaits: {
    fires: { [of("mails_waiting")]: "1x90" },
    quiet: { [of("mails_waiting")]: "1x50 0 1x50" },
    atMinutes: 80,
  },
  CountersignCertificateExpiring: gauge(of("certificate_end_seconds", 'of="http"'), 20 * 86_400, 40 * 86_400),
  CountersignCertificateEnds: gauge(of("certificate_end_seconds", 'of="http"'), 6 * 86_400, 8 * 86_400),
  CountersignMemoryHigh: gauge(of("resident_memory_bytes"), 900e6, 600e6),
  CountersignLogLinesLost: growth(of("log_lines_lost_total"), 1, 0),
};
