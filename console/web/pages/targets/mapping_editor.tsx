// The attribute mapping of a directory in groups, with a preview for a real user. It is saved here, or printed for a directory that
// only the settings file can change.

import { type Signal, useSignal } from "@preact/signals";
import { useEffect } from "preact/hooks";
import type { MappingPreview, OneTarget } from "../../../api/targets/target_types.ts";
import { failureText } from "../../app/api_client.ts";
import type { Models } from "../../app/app_context.ts";
import { Alert } from "../../components/alert.tsx";
import { Button, CopyButton } from "../../components/button.tsx";
import { UnsavedGuard } from "../../components/dialog.tsx";
import { Field } from "../../components/field.tsx";
import { Panel } from "../../components/page_layout.tsx";
import { t } from "../../i18n/translate.ts";
import type { Directory, OnDirectorySaved } from "./directory_calls.ts";
import { mappingToml, type MappingValues, type ReadOnlyByConnector, readOnlyOf } from "./mapping_form.ts";
import { ChangedAttributes, MappingReview } from "./mapping_review.tsx";
import { MappingRows, NAME_INPUT } from "./mapping_rows.tsx";
import { previewMapping } from "./target_calls.ts";

const DEBOUNCE_MS = 250;
const EXTRA = [
  { name: "scim", word: "targets.mapping_extra" },
  { name: "frontEnd", word: "targets.mapping_extra_to" },
] as const;

interface EditorProps {
  readonly models: Models;
  readonly target: OneTarget;
  readonly directory: Directory;
  /** Why the mapping cannot be saved. */
  readonly reason: string | undefined;
  readonly onSaved: OnDirectorySaved;
}

export function MappingEditor({ models, target, directory, reason, onSaved }: EditorProps) {
  const draft = useMappingDraft(directory);
  const { values, isDirty, readOnly } = draft;
  const user = useSignal("");
  const reviewing = useSignal(false);
  const { preview, problem } = useMappingPreview(models, { target: target.name, user: user.value, values });
  const shown = problem.value === null ? preview.value : null;
  return (
    <Panel title={t("targets.mapping")}>
      <UnsavedGuard router={models.router} isDirty={isDirty && reason === undefined} />
      <p class="quiet">{t("targets.mapping_why")}</p>
      <Field
        id="mapping-user"
        label={t("targets.mapping_user")}
        hint={t("targets.mapping_user_hint")}
        problem={problem.value}
        input={{
          ...NAME_INPUT,
          value: user.value,
          onInput: (event) => user.value = event.currentTarget.value,
        }}
      />
      <MappingRows {...{ target, values, readOnly }} changes={draft.changes} preview={shown} />
      <ExtraRow extra={draft.extra} />
      {shown !== null && isDirty && <ChangedAttributes preview={shown} />}
      {isDirty && reason === undefined && (
        <div class="form-end">
          <Button kind="primary" onClick={() => reviewing.value = true}>{t("targets.mapping_review")}</Button>
          <Button onClick={() => draft.reset(directory)}>{t("common.discard")}</Button>
        </div>
      )}
      {isDirty && reason !== undefined && (
        <Toml text={mappingToml(target.name, { table: directory.table, values, readOnly: readOnly.value })} />
      )}
      {reviewing.value && (
        <MappingReview
          {...{ models, target, directory, values }}
          readOnly={readOnly.value}
          onSaved={onSaved}
          onClose={() => reviewing.value = false}
        />
      )}
    </Panel>
  );
}

const NO_EXTRA = { scim: "", frontEnd: "" };

/** The typed changes of a mapping. */
function useMappingDraft({ table }: Directory) {
  const changes = useSignal<MappingValues>({});
  /** A row for an attribute that is not in the mapping. */
  const extra = useSignal(NO_EXTRA);
  const readOnly = useSignal<ReadOnlyByConnector>(readOnlyOf(table));
  const { scim, frontEnd } = extra.value;
  const added: MappingValues = scim !== "" && frontEnd !== "" ? { [scim]: frontEnd } : {};
  const isDirty = Object.keys({ ...changes.value, ...added }).length > 0 ||
    JSON.stringify(readOnly.value) !== JSON.stringify(readOnlyOf(table));
  return {
    ...{ changes, extra, readOnly, isDirty },
    values: { ...table.mapping?.user, ...changes.value, ...added },
    reset(now: Directory): void {
      changes.value = {};
      extra.value = NO_EXTRA;
      readOnly.value = readOnlyOf(now.table);
    },
  };
}

function ExtraRow({ extra }: { extra: Signal<typeof NO_EXTRA> }) {
  return (
    <fieldset class="mapping-group">
      <legend>{t("targets.mapping_add")}</legend>
      <div class="people-fields">
        {EXTRA.map(({ name, word }) => (
          <Field
            key={name}
            id={`mapping-extra-${name}`}
            label={t(word)}
            input={{
              ...NAME_INPUT,
              value: extra.value[name],
              onInput: (event) => extra.value = { ...extra.value, [name]: event.currentTarget.value.trim() },
            }}
          />
        ))}
      </div>
    </fieldset>
  );
}

function Toml({ text }: { text: string }) {
  return (
    <div class="secret">
      <Alert tone="wait">{t("targets.mapping_toml")}</Alert>
      <pre class="mono" role="group" tabIndex={0} aria-label={t("targets.mapping")}>{text}</pre>
      <CopyButton text={text} what={t("common.copy")} />
    </div>
  );
}

interface PreviewQuery {
  readonly target: string;
  readonly user: string;
  readonly values: MappingValues;
}

/** Fetches the preview again after each change of the user or the values. */
function useMappingPreview(models: Models, { target, user, values }: PreviewQuery) {
  const preview = useSignal<MappingPreview | null>(null);
  const problem = useSignal<string | null>(null);
  useEffect(() => {
    if (user.trim() === "") {
      preview.value = null;
      problem.value = null;
      return;
    }
    let isOutdated = false;
    const timer = setTimeout(() => {
      previewMapping(models, target, { user: user.trim(), rows: values }).then(
        (found) => {
          if (isOutdated) return;
          preview.value = found;
          problem.value = null;
        },
        (fault: unknown) => {
          if (!isOutdated) problem.value = failureText(fault);
        },
      );
    }, DEBOUNCE_MS);
    return () => {
      isOutdated = true;
      clearTimeout(timer);
    };
  }, [JSON.stringify([user, values])]);
  return { preview, problem };
}
