// Rooms, bottom to top. A room imports only what stands before it; rooms of one floor do not see each other.
const floors = [
  ['platform'],
  ['execution', 'access', 'diagnosis'],
  ['workspaces'],
  ['agents', 'repositories'],
  ['workflow'],
  ['tasks'],
  ['sessions'],
  ['transcript'],
  ['runs'],
  ['inbox', 'worktrees'],
  ['settlement'],
  ['scheduler', 'recovery', 'runtime', 'stall-watchdog', 'dashboard', 'retention'],
  ['realtime'],
];
const rooms = floors.flat();
const floorOf = (room) => floors.findIndex((floor) => floor.includes(room));

module.exports = {
  forbidden: [
    ...rooms.map((room) => ({
      name: `${room}-looks-only-down`,
      severity: 'error',
      from: { path: `^src/${room}/` },
      to: { path: `^src/(${rooms.filter((other) => other !== room && floorOf(other) >= floorOf(room)).join('|') || 'nothing'})/` },
    })),
    {
      name: 'domain-is-pure',
      comment: 'domain/ knows domain/, the errors, text and shapes of the building, and nothing that acts.',
      severity: 'error',
      from: { path: '/domain/', pathNot: '\\.spec\\.ts$' },
      to: { pathNot: ['/domain/', '^src/platform/(errors|text|actor)', '^src/execution/agent-runtime\\.ts$'] },
    },
    { name: 'ships-no-tests', severity: 'error', from: { path: '^src/', pathNot: '\\.spec\\.ts$' }, to: { path: '^test/' } },
    { name: 'no-cycles', severity: 'error', from: {}, to: { circular: true } },
  ],
  options: { doNotFollow: { path: 'node_modules' }, tsPreCompilationDeps: true, tsConfig: { fileName: 'tsconfig.json' } },
};
