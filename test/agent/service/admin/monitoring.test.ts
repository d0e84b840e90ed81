/** The alerting rules, the dashboard and the documentation name only metrics and events that exist. */
import { readFile } from 'node:fs/promises'
import { expect } from 'chai'
import { ServiceMetrics } from '../../../../agent/service/admin/metrics.ts'
import { makeRecord } from '../../../support/records.ts'
import { startTestService } from '../../../support/service.ts'

const root = new URL('../../../../..', import.meta.url)
const read = (path: string) => readFile(new URL(path, root), 'utf8')

describe('monitoring', function () {
  this.timeout(240_000)
  let existing: Set<string>
  let startedWith: string[]
  let [alerts, dashboard, operations] = ['', '', '']

  before(async () => {
    const service = await startTestService({ environment: { ADMIN_PORT: '0' } })
    const text = await (await fetch(`${service.adminUrl}/metrics`)).text()
    await service.stop()
    startedWith = [...text.matchAll(/^company_agent_events_total\{event="(\w+)"\} 0$/gm)].map(([, event = '']) => event)
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
    for (const state of ['prepared', 'settled', 'confirmed', 'refused'] as const) metrics.onState(makeRecord({ state }))
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

  it('uses only documented log events in alerts, which are counted from 0', () => {
    const events = [...alerts.matchAll(/event="(\w+)"/g)].map(([, event = '']) => event)
    expect(events).not.to.have.lengthOf(0)
    for (const event of events) expect(operations, event).to.contain(`| \`${event}\``)
    expect(startedWith.filter((event) => events.includes(event))).to.have.members([...new Set(events)])
  })

  it('has a section with advice for each alert, and no other', () => {
    const names = [...alerts.matchAll(/alert: (\w+)/g)].map(([, name = '']) => name)
    const section = operations.slice(operations.indexOf('## Alerts'))
    const headings = [...section.matchAll(/^### (CompanyAgent\w+)$/gm)].map(([, name = '']) => name)
    expect(headings).to.deep.equal(names)
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
