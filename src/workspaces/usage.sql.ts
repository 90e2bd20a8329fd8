/**
 * A `UsageView` as JSON, summed over what of `run_usage u` the condition holds for; null where nothing was told. A
 * sub-select, for the column list of another statement.
 */
export const usageSql = (condition: string): string => `(
  select jsonb_build_object(
           'input_tokens', sum(g.input_tokens), 'output_tokens', sum(g.output_tokens), 'total_tokens', sum(g.total_tokens),
           'attempts', sum(g.attempts),
           'cost', coalesce(jsonb_agg(jsonb_build_object('amount', g.cost::float8, 'currency', g.currency) order by g.currency)
                            filter (where g.currency is not null), '[]'))
    from (select u.currency, sum(u.input_tokens) as input_tokens, sum(u.output_tokens) as output_tokens,
                 sum(u.total_tokens) as total_tokens, sum(u.cost) as cost, count(*) as attempts
            from run_usage u where ${condition} group by u.currency) g
  having count(*) > 0)`;
