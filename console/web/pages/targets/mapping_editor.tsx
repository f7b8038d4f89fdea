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
import { Checkbox, Field } from "../../components/field.tsx";
import { Panel } from "../../components/page_layout.tsx";
import { t } from "../../i18n/translate.ts";
import { type Directory, type OnDirectorySaved, saveDirectory } from "./directory_calls.ts";
import {
  attributeLabel,
  canBeReadOnly,
  groupRows,
  isMisspelled,
  mappingToml,
  type MappingValues,
  type ReadOnlyByConnector,
  readOnlyOf,
  withMapping,
} from "./mapping_form.ts";
import { previewMapping } from "./target_calls.ts";
import { DiffTable } from "../../components/diff_table.tsx";
import { FormDialog } from "../../components/form_dialog.tsx";

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

/** The attributes of an input for a name. */
const NAME_INPUT = { autocomplete: "off", spellcheck: false, maxLength: 200 } as const;

interface RowsProps {
  readonly target: OneTarget;
  readonly values: MappingValues;
  readonly preview: MappingPreview | null;
  readonly changes: Signal<MappingValues>;
  readonly readOnly: Signal<ReadOnlyByConnector>;
}

function MappingRows(props: RowsProps) {
  const groups = groupRows(props.target.mapping);
  return (
    <>
      {groups.map(([group, rows]) => (
        <fieldset class="mapping-group" key={group}>
          <legend>{t(`targets.group_${group}`)}</legend>
          {rows.map((row) => <RowFields key={row.scim} row={row} {...props} />)}
        </fieldset>
      ))}
    </>
  );
}

/** One attribute: its name at the connectors, the user's value, and the connectors that have their own values of it. */
function RowFields(
  { target, row, values, preview, changes, readOnly }: RowsProps & {
    readonly row: OneTarget["mapping"][number];
  },
) {
  const { scim, frontEnd } = row;
  const put = (value: string) => {
    const { [scim]: _before, ...others } = changes.value;
    const isSame = value.trim() === "" ||
      target.mapping.some((one) => one.scim === scim && one.frontEnd === value.trim());
    changes.value = isSame ? others : { ...others, [scim]: value.trim() };
  };
  const name = values[scim] ?? frontEnd;
  const value = preview?.rows.find((one) => one.name === name)?.then ?? [];
  return (
    <div class="mapping-row">
      <Field
        id={`mapping-${scim}`}
        label={attributeLabel(scim)}
        hint={isMisspelled(frontEnd) ? t("targets.misspelled", { scim }) : scim}
        input={{
          ...NAME_INPUT,
          value: changes.value[scim] ?? frontEnd,
          onInput: (event) => put(event.currentTarget.value),
        }}
      />
      {preview !== null && (
        <span class="mapping-value">
          {value.length === 0
            ? <span class="quiet">{t("targets.no_value")}</span>
            : <bdi class="wrap">{value.join(", ")}</bdi>}
        </span>
      )}
      {canBeReadOnly(scim) && (
        <span class="mapping-kept">
          {Object.entries(readOnly.value).map(([backend, paths]) => (
            <Checkbox
              key={backend}
              label={t("targets.read_only_at", { backend })}
              of={attributeLabel(scim)}
              checked={paths.includes(scim)}
              onChange={(isReadOnly) => {
                const others = paths.filter((path) => path !== scim);
                readOnly.value = { ...readOnly.value, [backend]: isReadOnly ? [...others, scim] : others };
              }}
            />
          ))}
        </span>
      )}
    </div>
  );
}

/** The attributes of the user that the draft changes. */
function ChangedAttributes({ preview: { user, rows } }: { preview: MappingPreview }) {
  const differing = rows.filter(({ now, then }) => now.join("\n") !== then.join("\n"));
  if (differing.length === 0) return <p role="status">{t("targets.mapping_same", { name: user })}</p>;
  return (
    <>
      <p role="status">{t("targets.mapping_differs", { name: user, count: differing.length })}</p>
      <DiffTable
        label={t("targets.mapping_of", { name: user })}
        rows={differing.map(({ name, now, then }) => ({ name, now: shown(now), after: shown(then) }))}
      />
    </>
  );
}

const shown = (values: readonly string[]) => values.length === 0 ? null : values.join(", ");

interface ReviewProps {
  readonly models: Models;
  readonly target: OneTarget;
  readonly directory: Directory;
  readonly onSaved: OnDirectorySaved;
  readonly values: MappingValues;
  readonly readOnly: ReadOnlyByConnector;
  readonly onClose: () => void;
}

function MappingReview(
  { models, target, directory, values, readOnly, onSaved, onClose }: ReviewProps,
) {
  const rows = target.mapping.flatMap(({ scim, frontEnd }) =>
    values[scim] === undefined || values[scim] === frontEnd
      ? []
      : [{ name: scim, now: frontEnd, after: values[scim] ?? null }]
  );
  const added = Object.entries(values).filter(([scim]) => !target.mapping.some((row) => row.scim === scim))
    .map(([scim, after]) => ({ name: scim, now: null, after }));
  const before = readOnlyOf(directory.table);
  const kept = Object.entries(readOnly).filter(([name, paths]) =>
    paths.join() !== (before[name] ?? []).join()
  )
    .map(([name, paths]) => ({
      name: t("targets.read_only_at", { backend: name }),
      now: shown(before[name] ?? []),
      after: shown(paths),
    }));
  return (
    <FormDialog
      title={t("targets.mapping_review_title", { name: directory.name })}
      submitLabel={t("targets.mapping_save")}
      failureTitle={t("targets.not_saved")}
      onSubmit={async () => {
        const table = withMapping(directory.table, { values, readOnly });
        return await onSaved(t("targets.mapping_saved"), await saveDirectory(models, directory, table));
      }}
      onClose={onClose}
      wide
    >
      <DiffTable label={t("targets.mapping")} rows={[...rows, ...added, ...kept]} />
      <p class="quiet">{t("targets.mapping_effect")}</p>
    </FormDialog>
  );
}
