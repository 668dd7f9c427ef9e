process SEQMTL_TRAIN {
    tag "$meta.id"
    label 'process_medium'

    conda "${moduleDir}/environment.yml"
    container "${ workflow.containerEngine in ['singularity', 'apptainer'] && !task.ext.singularity_pull_docker_container ?
        'https://depot.galaxyproject.org/singularity/seqmtl:0.1.0--pyhdfd78af_0' :
        'quay.io/biocontainers/seqmtl:0.1.0--pyhdfd78af_0' }"

    input:
    tuple val(meta), path(dataset), path(genomes)
    path tree

    output:
    tuple val(meta), path("${prefix}.uncalibrated.seqmtl"), emit: model
    tuple val("${task.process}"), val('seqmtl'), eval("seqmtl --version | sed 's/.* //'"), topic: versions, emit: versions_seqmtl

    when:
    task.ext.when == null || task.ext.when

    script:
    def args = task.ext.args ?: ''
    prefix = task.ext.prefix ?: "${meta.id}"
    def tree_option = tree ? "--tree $tree" : ''
    """
    seqmtl train $dataset $tree_option --threads $task.cpus $args -o ${prefix}.uncalibrated.seqmtl
    """

    stub:
    prefix = task.ext.prefix ?: "${meta.id}"
    """
    touch ${prefix}.uncalibrated.seqmtl
    """
}
