/** One measured line: ours, what it is held against (measured in the same run), and what it should be. */
export interface Figure {
  readonly what: string;
  readonly ours: number;
  readonly baseline?: { readonly of: string; readonly value: number };
  readonly unit: string;
  /** `at least 0.5x`, `under 150`. */
  readonly target: string;
}

export interface Bench {
  readonly name: string;
  run(place: BenchPlace): Promise<Figure[]>;
}

/** A PostgreSQL with the settings of production, and how large the bench is: 1 is the whole, 0.1 a tenth. */
export interface BenchPlace {
  readonly size: number;
  /** A migrated database of its own. */
  database(): Promise<string>;
  emptyDatabase(): Promise<string>;
}

const shown = (value: number): string => (value >= 100 ? value.toFixed(0) : value >= 10 ? value.toFixed(1) : value.toFixed(2));

/** Ours by the baseline where there is one: 1.0x is equal. */
export const ratioOf = ({ ours, baseline }: Figure): number | null => (baseline === undefined ? null : ours / baseline.value);

export function table(figures: readonly Figure[]): string {
  const rows = figures.map((figure) => {
    const ratio = ratioOf(figure);
    return [
      figure.what,
      `${shown(figure.ours)} ${figure.unit}`,
      figure.baseline === undefined ? '' : `${shown(figure.baseline.value)} (${figure.baseline.of})`,
      ratio === null ? '' : `${ratio.toFixed(2)}x`,
      figure.target,
    ];
  });
  const all = [['figure', 'ours', 'baseline', 'ratio', 'target'], ...rows];
  const widths = all[0]!.map((_, column) => Math.max(...all.map((row) => row[column]!.length)));
  return all
    .map((row) =>
      row
        .map((cell, column) => cell.padEnd(widths[column]!))
        .join('  ')
        .trimEnd(),
    )
    .join('\n');
}

export const percentile = (values: readonly number[], part: number): number =>
  values.toSorted((a, b) => a - b)[Math.min(values.length - 1, Math.floor(values.length * part))]!;
