import { Injectable } from '@nestjs/common';
import { collectDefaultMetrics, Counter, Gauge, Histogram, Registry } from 'prom-client';

interface Described<Label extends string> {
  readonly name: `office_${string}`;
  readonly help: string;
  readonly labels?: readonly Label[];
}

/** The office's gauges and counters, one registry per server. A room declares its own in the constructor that uses them. */
@Injectable()
export class Metrics {
  private readonly registry = new Registry();

  constructor() {
    collectDefaultMetrics({ register: this.registry });
  }

  counter<Label extends string = never>({ name, help, labels = [] }: Described<Label>): Counter<Label> {
    return new Counter({ name, help, labelNames: labels, registers: [this.registry] });
  }

  /** `collect` is called at every scrape and may set the value. */
  gauge<Label extends string = never>({
    name,
    help,
    labels = [],
    collect,
  }: Described<Label> & { collect?: (gauge: Gauge<Label>) => void }): Gauge<Label> {
    return new Gauge({
      name,
      help,
      labelNames: labels,
      registers: [this.registry],
      ...(collect && {
        collect() {
          collect(this);
        },
      }),
    });
  }

  /** Buckets in the unit the name ends with; seconds unless it says otherwise. */
  histogram<Label extends string = never>({
    name,
    help,
    labels = [],
    buckets,
  }: Described<Label> & { buckets: readonly number[] }): Histogram<Label> {
    return new Histogram({ name, help, labelNames: labels, buckets: [...buckets], registers: [this.registry] });
  }

  get contentType(): string {
    return this.registry.contentType;
  }

  /** Everything in the Prometheus text format. */
  expose(): Promise<string> {
    return this.registry.metrics();
  }
}
