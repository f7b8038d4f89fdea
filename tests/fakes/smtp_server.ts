// An SMTP server (RFC 5321) of the tests, with STARTTLS (RFC 3207), AUTH PLAIN and LOGIN (RFC 4954). A test decides each answer.

import { createServer, type Server, type Socket } from "node:net";
import { createServer as createTlsServer, TLSSocket } from "node:tls";

/** A message that the server accepted. */
export interface ReceivedMail {
  readonly from: string;
  readonly to: string;
  /** With its headers, without dot-stuffing. */
  readonly data: string;
}

export interface SmtpServerOptions {
  /** PEM texts. Absent: no TLS. */
  readonly tls?: { readonly cert: string; readonly key: string };
  /** TLS from the first octet (RFC 8314). */
  readonly isImplicit?: boolean;
  /** Absent: no sign-in is offered. */
  readonly account?: { readonly user: string; readonly password: string };
}

/** The reply to a command; `null`: the usual one; `drop`: the connection is closed; `hang`: no reply at all. */
export type SmtpAnswer = string | "drop" | "hang" | null;

export interface SmtpServerFake {
  readonly port: number;
  readonly received: readonly ReceivedMail[];
  /** All commands of all connections, without AUTH credentials. */
  readonly commands: readonly string[];
  /** The connections that are open now, and the most at the same time. */
  readonly connections: { open: number; most: number; total: number };
  /** Called with each command in upper case, such as `RCPT TO:<ADA@EXAMPLE.COM>`; `.` is the end of a message, `""` the greeting. */
  answer: (command: string) => SmtpAnswer;
  /** Resolves when so many messages were accepted. */
  receives(count: number): Promise<void>;
  close(): Promise<void>;
}

export async function startSmtpServer(options: SmtpServerOptions = {}): Promise<SmtpServerFake> {
  const received: ReceivedMail[] = [];
  const commands: string[] = [];
  const connections = { open: 0, most: 0, total: 0 };
  const sockets = new Set<Socket>();
  let waiters: { count: number; resolve: () => void }[] = [];
  const fake = {
    answer: (_command: string): SmtpAnswer => null,
    onMail(mail: ReceivedMail): void {
      received.push(mail);
      waiters = waiters.filter(({ count, resolve }) => {
        if (received.length < count) return true;
        resolve();
        return false;
      });
    },
    commands,
  };
  const accept = (socket: Socket): void => {
    connections.total++;
    connections.most = Math.max(connections.most, ++connections.open);
    sockets.add(socket);
    socket.on("error", () => undefined);
    socket.on("close", () => {
      connections.open--;
      sockets.delete(socket);
    });
    new Session(socket, { ...options, fake, isSecure: options.isImplicit === true }).start();
  };
  const { tls } = options;
  const server: Server = options.isImplicit === true && tls !== undefined
    ? createTlsServer({ ...tls }, accept)
    : createServer(accept);
  server.on("tlsClientError", () => undefined);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const address = server.address();
  return Object.assign(fake, {
    port: typeof address === "object" && address !== null ? address.port : 0,
    received,
    connections,
    receives: (count: number) =>
      received.length >= count
        ? Promise.resolve()
        : new Promise<void>((resolve) => void waiters.push({ count, resolve })),
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  });
}

interface SessionOptions extends SmtpServerOptions {
  readonly fake: {
    answer: (command: string) => SmtpAnswer;
    onMail: (mail: ReceivedMail) => void;
    readonly commands: string[];
  };
  readonly isSecure: boolean;
}

class Session {
  readonly #socket: Socket;
  readonly #options: SessionOptions;
  #rest = "";
  #data: string[] | null = null;
  #from = "";
  #to = "";
  /** The password is expected (AUTH LOGIN), with the user of the line before. */
  #login: { user: string | null } | null = null;
  readonly #onData = (chunk: Uint8Array): void => this.#read(chunk);

  constructor(socket: Socket, options: SessionOptions) {
    this.#socket = socket;
    this.#options = options;
  }

  start(): void {
    this.#socket.on("data", this.#onData);
    this.#reply("", "220 mail.example.com ESMTP");
  }

  #continueSecure(): void {
    this.#socket.on("data", this.#onData);
  }

  #read(chunk: Uint8Array): void {
    this.#rest += new TextDecoder().decode(chunk);
    let end: number;
    while ((end = this.#rest.indexOf("\r\n")) >= 0) {
      const line = this.#rest.slice(0, end);
      this.#rest = this.#rest.slice(end + 2);
      if (this.#data === null) this.#command(line);
      else if (line === ".") this.#endOfData(this.#data);
      else this.#data.push(line.startsWith(".") ? line.slice(1) : line);
    }
  }

  #reply(command: string, usual: string): boolean {
    const answer = this.#options.fake.answer(command.toUpperCase());
    if (answer === "hang") return false;
    if (answer === "drop") {
      this.#socket.destroy();
      return false;
    }
    this.#socket.write(`${answer ?? usual}\r\n`);
    return answer === null;
  }

  #command(line: string): void {
    if (this.#login !== null) return this.#loginLine(this.#login, line);
    const [verb = ""] = line.toUpperCase().split(/[ :]/);
    this.#options.fake.commands.push(verb === "AUTH" ? line.split(" ").slice(0, 2).join(" ") : line);
    if (verb === "EHLO") this.#reply(line, this.#greeting());
    else if (verb === "STARTTLS") this.#startTls(line);
    else if (verb === "AUTH") this.#auth(line);
    else if (verb === "MAIL") {
      this.#to = "";
      if (this.#reply(line, "250 2.1.0 Ok")) this.#from = addressOf(line);
    } else if (verb === "RCPT") {
      if (this.#reply(line, "250 2.1.5 Ok")) this.#to = addressOf(line);
    } else if (verb === "DATA") {
      if (this.#to === "") this.#reply(line, "554 5.5.1 Error: no valid recipients");
      else if (this.#reply(line, "354 End data with <CR><LF>.<CR><LF>")) this.#data = [];
    } else if (verb === "QUIT") {
      this.#reply(line, "221 2.0.0 Bye");
      this.#socket.end();
    } else this.#reply(line, "250 2.0.0 Ok");
  }

  #greeting(): string {
    const { tls, account, isSecure } = this.#options;
    const lines = ["mail.example.com", "PIPELINING", "8BITMIME", "SIZE 1000000"];
    if (tls !== undefined && !isSecure) lines.push("STARTTLS");
    if (account !== undefined) lines.push("AUTH PLAIN LOGIN");
    return lines.map((line, at) => `250${at === lines.length - 1 ? " " : "-"}${line}`).join("\r\n");
  }

  #startTls(line: string): void {
    const { tls } = this.#options;
    if (tls === undefined) return void this.#reply(line, "502 5.5.1 Not implemented");
    if (!this.#reply(line, "220 2.0.0 Ready to start TLS")) return;
    this.#socket.removeListener("data", this.#onData);
    const secure = new TLSSocket(this.#socket, { isServer: true, ...tls });
    secure.on("error", () => undefined);
    new Session(secure, { ...this.#options, isSecure: true }).#continueSecure();
  }

  #auth(line: string): void {
    const [, mechanism = "", initial = ""] = line.split(" ");
    if (mechanism.toUpperCase() === "LOGIN") {
      this.#login = { user: null };
      return void this.#reply("AUTH LOGIN", "334 VXNlcm5hbWU6");
    }
    const [, user = "", password = ""] = atob(initial).split("\0");
    this.#checkAccount(user, password);
  }

  #loginLine(login: { user: string | null }, line: string): void {
    if (login.user === null) {
      login.user = atob(line);
      return void this.#socket.write("334 UGFzc3dvcmQ6\r\n");
    }
    this.#login = null;
    this.#checkAccount(login.user, atob(line));
  }

  #checkAccount(user: string, password: string): void {
    const { account } = this.#options;
    const isRight = account !== undefined && user === account.user && password === account.password;
    this.#reply("AUTH", isRight ? "235 2.7.0 Accepted" : "535 5.7.8 Authentication credentials invalid");
  }

  #endOfData(lines: readonly string[]): void {
    this.#data = null;
    if (!this.#reply(".", "250 2.0.0 Ok: queued")) return;
    this.#options.fake.onMail({ from: this.#from, to: this.#to, data: lines.join("\r\n") });
  }
}

function addressOf(line: string): string {
  return /<([^>]*)>/.exec(line)?.[1] ?? "";
}
