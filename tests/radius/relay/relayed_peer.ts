// The client and the user's device of a relayed login: CHAP, MS-CHAP, and the peer of an EAP conversation.

import { createHash, randomBytes } from "node:crypto";
import {
  type Attribute,
  type BuiltRequest,
  type RequestParts,
  revealSalted,
} from "../../support/radius_packets.ts";
import { eapMessages, eapOf, eapPacket, microsoft, microsoftOf, RIGHT } from "../../support/relay_server.ts";
import { type InProcess, SECRET } from "../rows/in_process.ts";
import { type Answer, exchangeJudged } from "../rows/login.ts";

const WRONG = 0x22;
const text = (value: string) => new TextEncoder().encode(value);
let nasPorts = 5000;

/** The attributes of CHAP. @param options.challenge absent: the Request Authenticator is the challenge */
export function chapParts(
  password: string,
  { challenge }: { challenge?: Uint8Array } = {},
): Pick<RequestParts, "more" | "authenticator"> {
  const authenticator = new Uint8Array(randomBytes(16));
  const digest = createHash("md5").update(Uint8Array.of(7)).update(password).update(
    challenge ?? authenticator,
  ).digest();
  const more = [{ type: 3, value: Uint8Array.of(7, ...digest) }];
  return { authenticator, more: challenge === undefined ? more : [...more, { type: 60, value: challenge }] };
}

/** The attributes of MS-CHAP, with a random challenge. */
export function msChapParts(
  isRight: boolean,
  { version = 2, ident = 9 }: { version?: 1 | 2; ident?: number } = {},
): Pick<RequestParts, "more"> {
  const response = new Uint8Array(50).fill(isRight ? RIGHT : WRONG);
  response[0] = ident;
  return {
    more: [microsoft(11, new Uint8Array(randomBytes(16))), microsoft(version === 2 ? 25 : 1, response)],
  };
}

/** The keys of an Access-Accept, revealed with the secret and the Request Authenticator of the client. */
export function keysOf(
  reply: { readonly attributes: readonly Attribute[] },
  request: BuiltRequest,
): readonly Uint8Array[] {
  return [16, 17].flatMap((type) =>
    microsoftOf(reply.attributes, type).map((hidden) =>
      revealSalted(hidden, { secret: SECRET, authenticator: request.authenticator })
    )
  );
}

interface PeerOptions {
  readonly userName: string;
  /** Default: User-Name. */
  readonly identity?: string;
  /** The Name of EAP-MSCHAPv2. Default: User-Name. */
  readonly name?: string;
  readonly isRight?: boolean;
  /** The password of EAP-GTC. */
  readonly password?: string;
  readonly more?: readonly Attribute[];
}

/** The peer of one EAP conversation, behind a client with a NAS-Port of its own. */
export class EapPeer {
  readonly #options: PeerOptions;
  readonly #nasPort = nasPorts++;
  world: InProcess;
  state: Uint8Array | null = null;
  userName: string;
  /** The EAP packet of the last answer. */
  received: Uint8Array = eapPacket(1, 40, 1);

  constructor(world: InProcess, options: PeerOptions) {
    this.world = world;
    this.#options = options;
    this.userName = options.userName;
  }

  /** The Identifier of the last Request. */
  get identifier(): number {
    return this.received[1] ?? 0;
  }

  /** Changes one octet of the State. */
  changeState(): void {
    const changed = this.state?.slice() ?? new Uint8Array(1);
    changed[20] = (changed[20] ?? 0) ^ 1;
    this.state = changed;
  }

  /** The Response to the last Request. @param octets of the Type-Data, in a tunnel */
  response(octets = 2): Uint8Array {
    const { userName, identity = userName, name = userName, isRight = true, password = "open sesame" } =
      this.#options;
    const [, identifier = 0, , , type = 0, opCode] = this.received;
    const mark = isRight ? RIGHT : WRONG;
    if (type === 1) return eapPacket(2, identifier, 1, text(identity));
    if (type === 4) return eapPacket(2, identifier, 4, [16, ...new Uint8Array(16).fill(mark)]);
    if (type === 6) return eapPacket(2, identifier, 6, text(isRight ? password : "wrong"));
    if (type !== 26) return eapPacket(2, identifier, type, new Uint8Array(octets).fill(mark));
    if (opCode !== 1) return eapPacket(2, identifier, 26, [opCode ?? 0]);
    const value = new Uint8Array(49).fill(mark);
    return eapPacket(2, identifier, 26, [
      2,
      this.received[6] ?? 0,
      0,
      54 + name.length,
      49,
      ...value,
      ...text(name),
    ]);
  }

  /** The next packet of the client. Each call has another Identifier and Request Authenticator. */
  build(eap = this.response(), parts: RequestParts = {}): BuiltRequest {
    const { userName } = this;
    const { more = [] } = this.#options;
    return this.world.client.build({
      ...{ userName, nasPort: this.#nasPort },
      ...(this.state === null ? {} : { state: this.state }),
      ...parts,
      more: [...eapMessages(eap), ...more, ...parts.more ?? []],
    });
  }

  /** Sends a packet, and reads the answer. */
  async exchange(request: BuiltRequest = this.build()): Promise<Answer> {
    const answer = await exchangeJudged(this.world, request);
    this.state = answer.state;
    this.received = eapOf(answer.attributes);
    return answer;
  }

  /** Sends packets until the answer is no challenge. */
  async login(): Promise<Answer> {
    for (let round = 0; round < 20; round++) {
      const answer = await this.exchange();
      if (answer.kind !== "challenge") return answer;
    }
    throw new Error("The conversation did not end");
  }

  /** Sends packets up to the one that the server will decide. */
  async upTo(rounds: number): Promise<void> {
    for (let round = 0; round < rounds; round++) {
      const answer = await this.exchange();
      if (answer.kind !== "challenge") throw new Error(`Round ${round} ended in ${answer.kind}`);
    }
  }
}

/** One request of a client without EAP, and its answer. */
export async function relayOnce(
  world: InProcess,
  parts: RequestParts & { readonly userName: string },
): Promise<{ request: BuiltRequest; answer: Answer }> {
  const request = world.client.build({ nasPort: nasPorts++, ...parts });
  return { request, answer: await exchangeJudged(world, request) };
}
