/** A folder lies in another, or is it. Both are real paths, as the system tells them. */
export const isWithin = (inner: string, outer: string): boolean =>
  inner === outer || inner.startsWith(outer.endsWith('/') ? outer : `${outer}/`);

export interface Surroundings {
  /** Where repositories may be. */
  readonly roots: readonly string[];
  /** The office's own folders: its state and where agents work. */
  readonly own: readonly string[];
}

/** Why a repository may not be there; null when it may. All paths are real ones. */
export function objectionTo(path: string, { roots, own }: Surroundings): string | null {
  if (!roots.some((root) => isWithin(path, root))) return 'it lies outside of OFFICE_REPOSITORY_ROOTS';
  if (own.some((folder) => isWithin(path, folder))) return 'it lies in a folder of the office itself';
  if (own.some((folder) => isWithin(folder, path))) return 'a folder of the office itself lies in it';
  return null;
}
