// What a changed mapping changes: for the user of the preview, and in the settings before they are saved.

import type { MappingPreview, OneTarget } from "../../../api/targets/target_types.ts";
import type { Models } from "../../app/app_context.ts";
import { DiffTable } from "../../components/diff_table.tsx";
import { FormDialog } from "../../components/form_dialog.tsx";
import { t } from "../../i18n/translate.ts";
import { type Directory, type OnDirectorySaved, saveDirectory } from "./directory_calls.ts";
import { type MappingValues, type ReadOnlyByConnector, readOnlyOf, withMapping } from "./mapping_form.ts";

/** The attributes of the user that the draft changes. */
export function ChangedAttributes({ preview: { user, rows } }: { preview: MappingPreview }) {
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

export function MappingReview(
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
