// Why a mail was not delivered yet, or failed. The browser reads this table too.

/** `server`: nothing can be sent at the moment. `recipient`: one mail waits and is tried again. `final`: one mail failed. */
type ProblemScope = "server" | "recipient" | "final";

/** Each row has its label in both catalogues: `mail.problem_<code>`. */
export const MAIL_PROBLEMS = {
  /** The server cannot be reached, or it closed the connection. */
  unreachable: { scope: "server" },
  name_not_found: { scope: "server" },
  timeout: { scope: "server" },
  /** The certificate is not trusted, or TLS failed in another way. */
  tls: { scope: "server" },
  /** The server does not offer STARTTLS (RFC 3207). */
  no_starttls: { scope: "server" },
  /** RFC 4954 §6: 535 and 530. */
  sign_in: { scope: "server" },
  /** The server refuses the sender's address, or its account may not use it. */
  sender_refused: { scope: "server" },
  /** A temporary refusal before the recipient was given (RFC 5321 §4.2.1, 4yz), such as 421. */
  busy: { scope: "server" },
  /** Many recipients in a row were refused, so the cause is probably not the recipients. */
  refuses_all: { scope: "server" },
  /** 4yz for the recipient: greylisting, a full mailbox. */
  recipient_later: { scope: "recipient" },
  content_later: { scope: "recipient" },
  /** 5yz for the recipient. */
  recipient_refused: { scope: "final" },
  content_refused: { scope: "final" },
  /** Its time ended before it could be sent. */
  expired: { scope: "final" },
  /** Seven days of attempts. */
  gave_up: { scope: "final" },
  /** The content cannot be decrypted: the master key changed. */
  unreadable: { scope: "final" },
} as const satisfies Record<string, { readonly scope: ProblemScope }>;

export type MailProblemCode = keyof typeof MAIL_PROBLEMS;

export interface MailProblem {
  readonly code: MailProblemCode;
  /** The reply of the server, without secrets; "" without one. */
  readonly detail: string;
  readonly atMs: number;
}
