// Picks a group: what is typed is asked of the server, twenty at a time.

import { useSignal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { failureText, take } from "../../api_client.ts";
import type { Models } from "../../models/models.ts";
import { t } from "../../words/translate.ts";
import { Field } from "../field.tsx";
import { Note } from "../note.tsx";

interface PickerProps {
  readonly models: Models;
  readonly target: string;
  /** Groups that are offered no more. */
  readonly taken: readonly string[];
  readonly onPick: (group: string) => Promise<void>;
  readonly reason?: string;
}

const TYPING_PAUSE_MS = 150;

export function GroupPicker({ models, target, taken, onPick, reason }: PickerProps) {
  const typed = useSignal("");
  const found = useSignal<readonly string[] | null>(null);
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
        const { names } = await models.session.whileSignedIn(() =>
          take(models.api["group-names"].$get({ query: { target, q: text } }))
        );
        if (mine !== turn.current) return;
        found.value = names;
        problem.value = null;
      } catch (fault) {
        if (mine === turn.current) problem.value = failureText(fault);
      }
    }, TYPING_PAUSE_MS);
    return () => clearTimeout(timer);
  }, [typed.value, target]);
  const offered = found.value?.filter((name) => !taken.includes(name)) ?? null;
  const pick = (group: string) => {
    typed.value = "";
    found.value = null;
    void onPick(group);
  };
  return (
    <div class="people-picker" role="search" aria-label={t("people.add_group")}>
      <Field
        id="group-picker"
        label={t("people.add_group")}
        hint={reason ?? t("people.add_group_hint")}
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
      {offered?.length === 0 && <p class="quiet" role="status">{t("people.no_group_found")}</p>}
      {offered !== null && offered.length > 0 && (
        <ul class="people-offers" aria-label={t("people.found_groups")}>
          {offered.map((name) => (
            <li key={name}>
              <button
                type="button"
                class="button button-small"
                onClick={() => pick(name)}
              >
                <bdi>{name}</bdi>
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
