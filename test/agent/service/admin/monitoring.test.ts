/** The alerting rules, the dashboard and the documentation name what exists, and the table of checks is documented. */
import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { ServiceMetrics } from '../../../../agent/service/admin/metrics.ts'
import { CHECKS, type Check } from '../../../../agent/service/checks/table.ts'
import { makeRecord } from '../../../support/records.ts'
import { startTestService } from '../../../support/service.ts'

const root = new URL('../../../../..', import.meta.url)
const read = (path: string) => readFile(new URL(path, root), 'utf8')

describe('monitoring', function () {
  this.timeout(240_000)
  let existing: Set<string>
  let [alerts, dashboard, operations] = ['', '', '']

  before(async () => {
    const service = await startTestService({ environment: { ADMIN_PORT: '0' } })
    const text = await (await fetch(`${service.adminUrl}/metrics`)).text()
    await service.stop()
    existing = new Set([...text.matchAll(/^# TYPE (\S+)/gm)].map(([, name = '']) => name))
    ;[alerts, dashboard, operations] = await Promise.all([
      read('docs/monitoring/alerts.yml'),
      read('docs/monitoring/dashboard.json'),
      read('docs/operations.md'),
    ])
  })

  const metricsIn = (text: string) =>
    [...text.matchAll(/\b(?:company_agent|nodejs|process)_\w+/g)].map(([name]) =>
      existing.has(name) ? name : name.replace(/_(bucket|count|sum)$/, ''),
    )

  it('counts the amount of a payment as revenue when it becomes confirmed, and not before', async () => {
    const metrics = new ServiceMetrics()
    for (const state of ['prepared', 'settled', 'confirmed', 'refused'] as const)
      metrics.countRevenue(makeRecord({ state }))
    const [sample] = (await metrics.registry.getSingleMetric('company_agent_revenue_usdc_total')?.get())?.values ?? []
    expect(sample?.value).to.equal(0.001)
  })

  it('uses only metrics that exist in alerts and dashboard', () => {
    const used = [...metricsIn(alerts), ...metricsIn(dashboard)]
    expect(used).not.to.have.lengthOf(0)
    for (const name of used) expect(existing.has(name), name).to.equal(true)
  })

  it('documents every metric of the service, and no other', () => {
    const own = [...existing].filter((name) => name.startsWith('company_agent_'))
    expect([...new Set(metricsIn(operations))].filter((name) => name.startsWith('company_agent_'))).to.have.members(own)
  })

  it('[14.22] documents each check with its columns, and what to do', () => {
    const rows = [...operations.matchAll(/^\| `([a-zA-Z ]+)` +\|(.*)\|(.*)\|(.*)\|(.*)\|(.*)\|(.+)\|(.+)\|$/gm)].map(
      (row) => row.slice(1).map((cell) => cell.trim()),
    )
    const expected = Object.entries<Check>(CHECKS).map(([name, { columns, everySeconds }]) => {
      const mark = (column: (typeof columns)[number]) => (columns.includes(column) ? '✓' : '')
      const severities = (['critical', 'warning'] as const).filter((each) => columns.includes(each)).join(', ')
      const every = everySeconds === undefined ? '' : `${everySeconds} s`
      return [name, mark('start'), mark('unready'), severities, mark('shown'), every]
    })
    expect(rows.map((row) => row.slice(0, 6))).to.deep.equal(expected)
    for (const [name, , , , , , proves, advice] of rows) expect([proves, advice], name).not.to.include('')
  })

  it('names each alert of the rules', () => {
    const names = [...alerts.matchAll(/alert: (\w+)/g)].map(([, name = '']) => name)
    const documented = new Set(operations.match(/CompanyAgent\w+/g))
    expect([...documented]).to.have.members(names)
  })

  it('has a dashboard whose panels have a query and a name for each series', () => {
    interface Target {
      expr: string
      legendFormat: string
    }
    const { panels } = JSON.parse(dashboard) as { panels: { title: string; targets: Target[] }[] }
    expect(panels).not.to.have.lengthOf(0)
    for (const { title, targets } of panels) {
      expect(targets, title).not.to.have.lengthOf(0)
      for (const { expr, legendFormat } of targets) {
        expect(expr, title).not.to.equal('')
        // "or" drops series of other metrics that have the same labels.
        expect(expr, title).not.to.match(/ or /)
        const [, labels = ''] = /^sum by \((.*?)\)/.exec(expr) ?? []
        for (const label of labels.split(', ').filter((each) => each !== ''))
          expect(legendFormat, title).to.contain(label)
      }
    }
  })
})
