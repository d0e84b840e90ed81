/** The actions of the command `registry`, with a running service and a real registry. */
import { expect } from 'chai'
import type { Hex } from 'viem'
import { printRegistrationCall, showRegistration } from '../../../rest-facade/registry/command.ts'
import { REGISTRIES } from '../../../rest-facade/registry/contracts.ts'
import { sendAs } from '../../../agent/sandbox/contracts.ts'
import {
  AGENT_URI,
  BASE_URL,
  newAddress,
  newAgent,
  serveRegistry,
  type ServedRegistry,
} from '../../support/registries.ts'

describe('the registry actions', () => {
  let served: ServedRegistry
  let agent: Awaited<ReturnType<typeof newAgent>>

  before(async () => {
    agent = await newAgent()
    served = await serveRegistry({ url: agent.url, agentId: agent.agentId, payTo: agent.owner })
  })
  after(() => served.close())

  async function show(send = fetch) {
    const lines: string[] = []
    const isShown = await showRegistration(served.url, send, (line) => void lines.push(line))
    return { isShown, lines, text: lines.join('\n') }
  }

  function register({ isPublic }: { isPublic: boolean }): string {
    const lines: string[] = []
    const print = (line: string) => void lines.push(line)
    printRegistrationCall(BASE_URL, isPublic, print)
    return lines.join('\n')
  }

  it('print what a running service reports, one member per line', async () => {
    const { isShown, lines } = await show()
    expect(isShown).to.equal(true)
    expect(lines[0]).to.match(/^status +registered$/)
    expect(lines).to.include(`agent_id                ${agent.agentId}`)
    expect(lines).to.include(`registration_file       ${BASE_URL}/.well-known/agent-registration.json`)
  })

  it('print a transaction that registers the service', async () => {
    const text = register({ isPublic: true })
    expect(text).to.contain(`to        ${REGISTRIES.identity}`)
    expect(text).to.contain(`agentURI  ${AGENT_URI}`)
    expect(text).to.not.contain('BASE_URL')
    expect(register({ isPublic: false })).to.contain('BASE_URL is not set')
    const [, calldata] = /^calldata {2}(0x[0-9a-f]+)$/m.exec(text) ?? []
    const owner = newAddress()
    await sendAs({ url: agent.url, from: owner, to: REGISTRIES.identity }, calldata as Hex)
    const next = await serveRegistry({ url: agent.url, agentId: agent.agentId + 1n, payTo: owner })
    expect((await next.get('/agent.json')).json).to.include({ status: 'registered', agent_uri_matches: true })
    await next.close()
  })

  it('print why a service reports no identity', async () => {
    const answering =
      (body: string, status = 200) =>
      () =>
        Promise.resolve(new Response(body, { status }))
    const silent = () => Promise.reject(new Error('no'))
    const unchecked = answering('{"error":{"code":"registry_unchecked","message":"."}}', 503)
    expect(await show(silent)).to.include({
      isShown: false,
      text: 'the service does not answer; check that it is running',
    })
    expect(await show(unchecked)).to.include({ isShown: false, text: 'refused: registry_unchecked' })
    for (const body of ['<h1>', '{}', 'null'])
      expect(await show(answering(body))).to.include({
        isShown: false,
        text: 'the reply is not a valid /agent.json',
      })
  })
})
