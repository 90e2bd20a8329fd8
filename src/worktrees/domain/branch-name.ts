/**
 * The branch of a task: `office/<identifier>`, or the next that is free. An identifier is letters, digits and a dash, so the
 * name is safe whatever the title says. `taken` are the branches of the repository that begin with `office`. Git keeps names
 * as paths, so a branch can be neither above nor below another one, and some disks do not tell upper case from lower.
 */
export function branchFor(identifier: string, taken: readonly string[]): string {
  const known = taken.map((name) => name.toLowerCase());
  const isTaken = (name: string): boolean => known.some((one) => one === name || one.startsWith(`${name}/`) || name.startsWith(`${one}/`));
  const plain = known.includes('office') ? `office-${identifier}` : `office/${identifier}`;
  for (let count = 1; ; count++) {
    const name = count === 1 ? plain : `${plain}-${count}`;
    if (!isTaken(name.toLowerCase())) return name;
  }
}

/** Where a repository without a usable HEAD begins: its only branch, or the one of the usual names. Null: it is not to be told. */
export function likelyBase(branches: readonly string[]): string | null {
  if (branches.length === 1) return branches[0]!;
  return ['main', 'master', 'trunk'].find((name) => branches.includes(name)) ?? null;
}
