// The saved filters of a list: a menu that applies, saves and removes them. The server stores them for each administrator.

import { useSignal } from "@preact/signals";
import type { FilterList, SavedFilterList } from "../../api/saved_filters/saved_filters.ts";
import { escapeParams, failureText, take } from "../app/api_client.ts";
import type { Models } from "../app/app_context.ts";
import type { ListFilter } from "../app/filters.ts";
import { readyValue, type Resource, useResource } from "../app/resource.ts";
import { t } from "../i18n/translate.ts";
import { Menu, type MenuItem } from "./menu.tsx";
import { SaveFilterDialog } from "./save_filter_dialog.tsx";

interface SavedFiltersProps {
  readonly models: Models;
  readonly list: FilterList;
  readonly filters: readonly ListFilter[];
}

export function SavedFilters({ models, list, filters }: SavedFiltersProps) {
  const { router } = models;
  const saved = useResource(models, { fetch: () => createCalls(models, list).read(), inputs: [list] });
  const saving = useSignal(false);
  const items = readyValue(saved.state.value)?.items ?? [];
  const query = savedQuery(models, filters);
  const active = items.find((one) => one.query === query);
  const menuItems = (): MenuItem[] => [
    ...items.map(({ name, query }): MenuItem => ({
      label: name,
      checked: query === active?.query,
      closes: true,
      run: () => router.go(`${router.path.peek()}?${query}`),
    })),
    {
      label: t("common.filter_save"),
      icon: "plus",
      reason: query === "" ? t("common.filter_save_why") : undefined,
      run: () => saving.value = true,
    },
    ...active === undefined ? [] : [{
      label: t("common.remove_name", { name: active.name }),
      icon: "trash-2" as const,
      isBad: true,
      run: () => removeFilter(models, { list, saved, name: active.name }),
    }],
  ];
  return (
    <>
      <Menu
        text={active?.name ?? t("common.filters_saved")}
        icon="bookmark"
        label={t("common.filters_saved")}
        items={menuItems}
      >
        {items.length === 0 && (
          <p class="quiet small">
            {saved.state.value.kind === "failed" ? t("common.filters_not_loaded") : t("common.filters_none")}
          </p>
        )}
      </Menu>
      {saving.value && (
        <SaveFilterDialog
          name={active?.name ?? ""}
          onSave={async (name) => {
            const next = await createCalls(models, list).save(name, query);
            saved.set(next);
            models.toasts.show(t("common.filter_saved", { name }), { tone: "ok" });
          }}
          onClose={() => saving.value = false}
        />
      )}
    </>
  );
}

interface RemovedFilter {
  readonly list: FilterList;
  readonly saved: Resource<SavedFilterList>;
  readonly name: string;
}

async function removeFilter(models: Models, { list, saved, name }: RemovedFilter): Promise<void> {
  const calls = createCalls(models, list);
  const { items } = readyValue(saved.state.peek()) ?? { items: [] };
  const query = items.find((one) => one.name === name)?.query ?? "";
  try {
    saved.set(await calls.remove(name));
    const undo = async () => saved.set(await calls.save(name, query));
    models.toasts.show(t("common.filter_removed", { name }), { tone: "ok", undo: () => void undo() });
  } catch (fault) {
    models.toasts.show(`${t("common.filter_not_removed")} ${failureText(fault)}`, { tone: "bad" });
  }
}

/** The filters and the order in the address, always in the same order; "" without a filter. */
function savedQuery({ router }: Pick<Models, "router">, filters: readonly ListFilter[]): string {
  const given = filters.map(({ name }) => [name, router.param(name)]).filter(([, value]) => value !== "");
  const order = router.param("sort");
  if (given.length === 0 && order === "") return "";
  return new URLSearchParams([...given, ...order === "" ? [] : [["sort", order]]]).toString();
}

function createCalls({ api, session }: Models, list: FilterList) {
  const filters = api["saved-filters"][":list"];
  return {
    read: (): Promise<SavedFilterList> => take(filters.$get({ param: escapeParams({ list }) })),
    save: (name: string, query: string): Promise<SavedFilterList> =>
      session.whileSignedIn(() =>
        take(filters[":name"].$put({ param: escapeParams({ list, name }), json: { query } }))
      ),
    remove: (name: string): Promise<SavedFilterList> =>
      session.whileSignedIn(() =>
        take(filters[":name"].$delete({ param: escapeParams({ list, name }), json: {} }))
      ),
  };
}
