process SEQMTL_EVALUATE {
    tag "$meta.id"
    label 'process_low'

    conda "${moduleDir}/environment.yml"
    container "${ workflow.containerEngine in ['singularity', 'apptainer'] && !task.ext.singularity_pull_docker_container ?
        'https://depot.galaxyproject.org/singularity/seqmtl:0.1.0--pyhdfd78af_0' :
        'quay.io/biocontainers/seqmtl:0.1.0--pyhdfd78af_0' }"

    input:
    tuple val(meta), path(model), path(datasets), path(genomes)

    output:
    tuple val(meta), path("${prefix}.metrics.json"), emit: json
    tuple val(meta), path("${prefix}.metrics.tsv"), emit: table
    tuple val("${task.process}"), val('seqmtl'), eval("seqmtl --version | sed 's/.* //'"), topic: versions, emit: versions_seqmtl

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    seqmtl evaluate $model $datasets --json ${prefix}.metrics.json --threads $task.cpus $args \\
        > ${prefix}.metrics.tsv
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    touch ${prefix}.metrics.json ${prefix}.metrics.tsv
    """
}
