// The reasons for dropping a datagram. Counters, log lines, docs and tests are derived from these rows.
// Every row has a vector in tests/vectors/drops.txt.

interface DropRow {
  /**
   * The log level. A drop at the gate is logged at most once a minute for each reason and source. A dropped login has a line of its own;
   * in a flood, one line a second contains the number of drops (`folded`).
   */
  readonly level: "warn" | "debug";
  readonly sentence: string;
  readonly ref: string;
}

export const DROP_REASONS = {
  source_port_zero: {
    level: "warn",
    sentence: "source port 0: nothing can be sent there",
    ref: "RFC 768; a send to port 0 fails",
  },
  unknown_client: {
    level: "warn",
    sentence: "no configured client has this source address; see [[radius.client]]",
    ref: "RFC 2865 §3: silently discarded",
  },
  other_nas: {
    level: "warn",
    sentence: "a client has this source address, but requires another NAS-Identifier or NAS-IP-Address",
    ref: "RFC 2865 §3: silently discarded",
  },
  too_short: {
    level: "debug",
    sentence: "fewer than 20 octets, or a Length below 20",
    ref: "RFC 2865 §3, Length",
  },
  too_long: {
    level: "debug",
    sentence: "a Length above 4096",
    ref: "RFC 2865 §3, Length",
  },
  truncated: {
    level: "debug",
    sentence: "fewer octets arrived than Length says",
    ref: "RFC 2865 §3, Length",
  },
  code_not_served: {
    level: "debug",
    sentence: "the code is not Access-Request, Accounting-Request or Status-Server; send CoA elsewhere",
    ref: "RFC 2865 §3, Code",
  },
  wrong_port: {
    level: "warn",
    sentence: "an Access-Request on the accounting port; send it to an address of radius.listen",
    ref: "RFC 2866 §3: the accounting port",
  },
  malformed_attribute: {
    level: "debug",
    sentence: "an attribute has type 0, a length below 2, or runs over the end",
    ref: "RFC 2865 §5",
  },
  wrong_message_authenticator: {
    level: "warn",
    sentence:
      "Message-Authenticator does not verify: the shared secret of this client differs from the one configured here",
    ref: "RFC 3579 §3.2",
  },
  wrong_request_authenticator: {
    level: "warn",
    sentence:
      "the Request Authenticator of an Accounting-Request does not verify: the shared secret of this client differs from the one configured here",
    ref: "RFC 2866 §3",
  },
  missing_message_authenticator: {
    level: "warn",
    sentence: "no Message-Authenticator, and this client must send one (message_authenticator)",
    ref: "RFC 3579 §3.2; BlastRADIUS",
  },
  unsigned_proxy_state: {
    level: "warn",
    sentence: "Proxy-State without Message-Authenticator (limit_proxy_state)",
    ref: "BlastRADIUS mitigation",
  },
  unsigned_status_server: {
    level: "debug",
    sentence: "Status-Server without Message-Authenticator",
    ref: "RFC 5997 §3",
  },
  unsigned_eap: {
    level: "debug",
    sentence: "EAP-Message without Message-Authenticator",
    ref: "RFC 3579 §3.1",
  },
  incomplete_accounting: {
    level: "warn",
    sentence: "an Accounting-Request without a valid Acct-Status-Type or Acct-Session-Id",
    ref: "RFC 2866 §5.13",
  },
  rate_limited: {
    level: "warn",
    sentence: "too many unsigned requests came from this source address; signed ones are not limited",
    ref: "a limit of this gateway",
  },
  store_not_answering: {
    level: "warn",
    sentence: "no request is answered while the store does not answer",
    ref: "RFC 5997 §4.2",
  },
  duplicate_in_progress: {
    level: "debug",
    sentence: "a retransmission while the first packet is in progress",
    ref: "RFC 5080 §2.2.2",
  },
  overtaken: {
    level: "debug",
    sentence: "a newer packet of the same login gets the answer",
    ref: "RFC 5080 §2.2.2",
  },
  too_busy: {
    level: "warn",
    sentence: "too many logins or requests are in progress already; the client will send this one again",
    ref: "a bound of this gateway",
  },
  first_factor_busy: {
    level: "warn",
    sentence: "too many passwords wait to be checked; the client will send this request again",
    ref: "a bound of this gateway",
  },
  first_factor_silent: {
    level: "warn",
    sentence:
      "no first-factor server answered the relayed request; the client will ask its next RADIUS server",
    ref: "RFC 2865 §2.3",
  },
  store_failed: {
    level: "warn",
    sentence: "the store could not record the answer, so none was sent; see the error before this line",
    ref: "a reply leaves after its commit",
  },
} as const satisfies Record<string, DropRow>;

export type DropReason = keyof typeof DROP_REASONS;
