// Picks a user for a group: what is typed is asked of the server, twenty at a time.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { failureText } from "../../api_client.ts";
import { findUsers } from "../../models/group_calls.ts";
import type { Models } from "../../models/models.ts";
import { t } from "../../words/translate.ts";
import { Field } from "../field.tsx";
import { Note } from "../note.tsx";

interface PickerProps {
  readonly models: Models;
  readonly target: string;
  readonly onPick: (user: string) => Promise<void>;
  /** Why nobody can be added. */
  readonly reason?: string | undefined;
}

type Found = Awaited<ReturnType<typeof findUsers>>;
const TYPING_PAUSE_MS = 150;

export function MemberPicker({ models, target, onPick, reason }: PickerProps) {
  const typed = useSignal("");
  const found = useSignal<Found | null>(null);
  const problem = useSignal<string | null>(null);
  const turn = useRef(0);
  useEffect(() => {
    const mine = ++turn.current;
    const text = typed.value.trim();
    if (text === "") {
      found.value = null;
      return;
    }
    const timer = setTimeout(async () => {
      try {
        const users = await findUsers(models, { target, text });
        if (mine !== turn.current) return;
        found.value = users;
        problem.value = null;
      } catch (fault) {
        if (mine === turn.current) problem.value = failureText(fault);
      }
    }, TYPING_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed.value, target]);
  const pick = (name: string) => {
    typed.value = "";
    found.value = null;
    void onPick(name);
  };
  return (
    <div class="people-picker" role="search" aria-label={t("groups.add_member")}>
      <Field
        id="member-picker"
        label={t("groups.add_member")}
        hint={reason ?? t("groups.add_hint")}
        input={{
          type: "search",
          value: typed.value,
          disabled: reason !== undefined,
          title: reason,
          maxLength: 200,
          autocomplete: "off",
          onInput: (event) => typed.value = event.currentTarget.value,
        }}
      />
      {problem.value !== null && <Note tone="bad" role="alert">{problem.value}</Note>}
      {found.value?.length === 0 && <p class="quiet" role="status">{t("groups.no_user_found")}</p>}
      {found.value !== null && found.value.length > 0 && (
        <ul class="people-offers" aria-label={t("groups.found_users")}>
          {found.value.map(({ name, displayName }) => (
            <li key={name}>
              <button
                type="button"
                class="button button-small"
                onClick={() => pick(name)}
              >
                <bdi>{name}</bdi>
                {displayName !== "" && displayName !== name && <bdi class="quiet">{displayName}</bdi>}
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
