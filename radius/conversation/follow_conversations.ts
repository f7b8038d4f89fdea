// Takes over the conversations that other nodes write: new ones from the journal, and later records by their key.

import { readJournalValue } from "../../platform/journal.ts";
import type { Store, StoreEntry } from "../../platform/store.ts";
import type { Conversation } from "./conversation.ts";
import { localizeRecord } from "./conversation_codec.ts";
import type { ConversationStore } from "./conversation_store.ts";
import type { PeerNodes } from "./peers.ts";

interface FollowConversationsDeps {
  readonly store: Pick<Store, "follow">;
  readonly conversations: ConversationStore;
  readonly peers: PeerNodes;
  /** Called for each conversation that was taken over, for the live views. */
  readonly onFollowed: (conversation: Conversation, change: { readonly isNew: boolean }) => void;
}

/** Call it before conversations are loaded. */
export function followConversations(
  { store, conversations, peers, onFollowed }: FollowConversationsDeps,
): void {
  const adopt = (record: unknown, stored: Conversation["stored"]): void => {
    const local = localizeRecord(record, (node) => peers.clockOffsetMs(node));
    if (local === null) throw new TypeError("it is no login of this version");
    const isNew = conversations.storedOf(local.orderedId) === "not";
    const adopted = conversations.adopt(local, stored);
    if (adopted !== null) onFollowed(adopted, { isNew });
  };
  const applyRecord = ({ key, value, versionstamp }: StoreEntry<unknown>): void => {
    const id = String(key[1]);
    // A record that expired in the store ends in memory by its own deadline.
    const known = conversations.storedOf(id);
    const isKnown = typeof known === "object" && known.versionstamp >= (versionstamp ?? "");
    if (versionstamp === null || isKnown) return;
    if (!conversations.isRunning(id)) return adopt(value, { versionstamp });
    // Its packet in progress cannot be recorded any more.
    const running = conversations.unpark(id);
    if (running !== null) running.overtaken = true;
  };
  store.follow(["conversation"], applyRecord);
  store.follow(["journal"], ({ value }) => {
    const faults: unknown[] = [];
    for (const line of readJournalValue(value)) {
      try {
        adopt(line, "journal");
      } catch (fault) {
        faults.push(fault);
      }
    }
    if (faults.length > 0) throw faults[0];
  });
}
